"""Serving: from a training to a server, what is sent to it, and which version is the stable one."""
