"""Mixes of nodes and a training: what preflight says of them, and what the scheduler makes."""
