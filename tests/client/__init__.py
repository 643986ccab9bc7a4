"""Tests of the client folder."""
