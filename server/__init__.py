"""The Plyroom server: rooms whose state is an event log, served to all clients on one port."""
