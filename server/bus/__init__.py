"""How nodes tell each other that a room's log has grown."""
