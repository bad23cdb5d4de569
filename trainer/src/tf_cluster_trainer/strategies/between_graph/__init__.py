"""parameter-server, between-graph: every worker has a graph and sessions of its own."""
