"""Programs to run and to start from."""
