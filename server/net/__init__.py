"""The server's port: HTTP and WebSocket connections, and the sessions of clients."""
