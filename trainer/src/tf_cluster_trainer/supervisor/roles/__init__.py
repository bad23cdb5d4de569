"""How each kind of task carries out what its rules decide."""
