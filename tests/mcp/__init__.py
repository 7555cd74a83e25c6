"""Tools of MCP servers: real servers, and an odd one of our own."""
