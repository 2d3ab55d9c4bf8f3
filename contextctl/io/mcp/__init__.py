"""MCP servers: connected, listed and called, over stdio and streamable HTTP.

Nothing here is imported before a profile that names a server is run: the SDK takes seconds.
"""
