"""Tests of strategies as players."""
