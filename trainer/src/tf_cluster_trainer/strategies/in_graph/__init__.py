"""parameter-server, in-graph: the chief sends calls to the workers, which train for it."""
