"""Tools of MCP servers: which servers there are, their sessions in a worker, and each accepted tool as one of ours."""
