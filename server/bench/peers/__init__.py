"""Compares the server with a bare relay and boardgame.io, by the same matches and load generator."""
