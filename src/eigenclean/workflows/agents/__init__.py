"""`eigenclean mcp`: tools for agents, which read data and propose patches, and never write to data."""
