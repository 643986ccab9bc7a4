"""Tests of a whole cluster: its files, its proxy, and the death of its parts."""
