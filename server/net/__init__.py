"""The WebSocket side: bytes become commands of authenticated actors; messages become bytes."""
