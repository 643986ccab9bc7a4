"""The lessons, one module each; `catalogue` loads them by name."""
