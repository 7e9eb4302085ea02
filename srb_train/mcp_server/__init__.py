"""The door for assistants: the verbs of training control over the Model Context Protocol.

Every tool translates to an operation and decides nothing; the command line is the other door.
"""

from srb_train.mcp_server.transport import serve_http, serve_stdio

__all__ = ["serve_http", "serve_stdio"]
