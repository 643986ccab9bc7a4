"""Tests of the engine folder."""
