"""What each kind of task does of what its rules decide."""
