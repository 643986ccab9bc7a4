"""Tests that run the whole of Plyroom: real processes, real sockets, a real browser."""
