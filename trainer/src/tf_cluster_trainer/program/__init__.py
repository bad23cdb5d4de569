"""The user's side: the contract, and all that is done with a program alone on this machine."""
