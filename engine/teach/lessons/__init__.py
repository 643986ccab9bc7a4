"""The lessons: one small module each; `catalogue` finds them by name."""
