"""Writes pages of docs/reference from the code; not installed."""
