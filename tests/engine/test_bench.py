"""The bench's node signature: a change of the search either keeps it or says here why not."""

import shutil

import pytest

from engine import bench
from engine.search import layout

BASIC = {"connect-four": 4_651_313, "tic-tac-toe": 7_949, "sticks": 38_624}
ALL = {"connect-four": 1_245_493, "tic-tac-toe": 7_019, "sticks": 26_973}


def test_signature() -> None:
    """The fixed searches visit exactly these nodes, everywhere and each time, with basic and with all techniques."""
    assert bench.node_counts(layout.BASIC) == BASIC
    assert bench.node_counts(layout.ALL) == ALL


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compare with")
def test_the_c_program_is_the_same_search() -> None:
    """The peer of the benchmark visits the same nodes and finds the same scores, so the ratio means something."""
    lines: list[str] = []
    ratio = bench.compare(1, lines.append)
    assert ratio is not None
    assert "the same" in lines[-1]
