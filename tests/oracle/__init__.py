"""Checkers of logs and of client messages that share no code with the server."""
