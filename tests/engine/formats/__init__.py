"""Tests of the formats of files."""
