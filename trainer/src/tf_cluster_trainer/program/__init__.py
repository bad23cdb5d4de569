"""The user's side: the contract, and what the trainer does with a program on this machine alone."""
