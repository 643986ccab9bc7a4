"""Helpers for tests: servers, clients, browsers, clocks."""
