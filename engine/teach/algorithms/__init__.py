"""The algorithms of the founding texts, and what decides how they search."""
