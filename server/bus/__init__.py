"""The bus: how nodes notify each other of new events in a room's log."""
