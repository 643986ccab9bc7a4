"""The live side of a node: one runner for each room, the hub that owns them, and the lobby."""
