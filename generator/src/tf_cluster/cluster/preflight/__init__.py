"""Whether a training would fit in a cluster now: asked before it is installed.

look.py reads the cluster; every other file decides without I/O. What a rule does not know, it says.
"""
