"""Strategies: players that choose a move by a named algorithm, built in or of other packages."""
