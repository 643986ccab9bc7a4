"""Commands for operators: migrate, back up, restore, verify."""
