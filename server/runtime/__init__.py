"""The rooms of a node at run time: a runner for each room, the hub that owns them, the lobby."""
