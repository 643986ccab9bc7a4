"""Writes pages of docs/reference from measurements; not installed."""
