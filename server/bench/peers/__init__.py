"""Compares the server with a bare relay and boardgame.io: one load generator, the same matches."""
