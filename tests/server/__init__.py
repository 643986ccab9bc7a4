"""Tests of the server folder."""
