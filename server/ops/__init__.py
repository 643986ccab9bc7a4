"""For operators: migrate, back up, restore, verify."""
