"""Writes pages of docs/reference from measurements, and the pictures of lessons; not installed."""
