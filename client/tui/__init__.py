"""Plyroom on a whole terminal: the lobby, rooms and replays. It needs Textual (extra `tui`)."""
