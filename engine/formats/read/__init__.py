"""Readers of what other programs and people write: they forgive, and say what they put right."""
