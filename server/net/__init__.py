"""The WebSocket side: bytes become commands of an authenticated actor, and messages become
bytes.
"""
