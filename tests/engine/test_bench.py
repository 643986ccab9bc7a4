"""The bench: its node signature, the comparison with C, and its JSON."""

import json
import shutil

import pytest

from engine.bench import search as bench
from engine.search import features

#: The signature with the basic features.
BASIC = {"connect-four": 4_651_313, "tic-tac-toe": 7_949, "sticks": 38_624}
#: The signature with all features.
ALL = {"connect-four": 1_245_493, "tic-tac-toe": 7_019, "sticks": 26_973}


def test_signature() -> None:
    """The searches of the bench visit the same number of nodes on every machine."""
    assert bench.node_counts(features.BASIC) == BASIC
    assert bench.node_counts(features.ALL) == ALL


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compare with")
def test_the_c_program_is_the_same_search() -> None:
    """The C program visits the same nodes and finds the same scores as our search."""
    comparison = bench.compare(1)
    assert comparison.ratio is not None
    assert comparison.peers[0].nodes == comparison.ours[0].nodes


def test_a_different_search_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that visits other nodes is refused as a peer."""
    laps = iter(
        [bench.Lap((9,), (0,), 1.0), bench.Lap((9,), (0,), 1.0), bench.Lap((8,), (0,), 1.0)]
    )
    monkeypatch.setattr(bench, "run_lap", lambda *_: next(laps))
    monkeypatch.setattr(bench, "c_root", lambda folder: lambda *_: 0)
    with pytest.raises(AssertionError, match="the same nodes"):
        bench.compare(1)


@pytest.mark.parametrize("has_compiler", [True, False])
def test_the_command_in_json(
    has_compiler: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The JSON has the signature and the medians; without a compiler it has no ratio."""
    ours = tuple(bench.Lap((100, 50), (0, 0), seconds) for seconds in (1.0, 3.0, 2.0))
    theirs = (
        tuple(bench.Lap((100, 50), (0, 0), seconds) for seconds in (0.5, 3.0, 1.4))
        if has_compiler
        else ()
    )
    monkeypatch.setattr(bench, "compare", lambda rounds: bench.Comparison(ours, theirs))
    monkeypatch.setattr(bench, "CASES", bench.CASES[5:7])
    assert bench.main(["--json"]) == (1 if has_compiler else 0)
    printed = json.loads(capsys.readouterr().out)
    assert set(printed["signature"]) == {"all", "basic"}
    assert printed["signature"]["basic"] == bench.node_counts(features.BASIC)
    assert (printed["speed"]["nodes"], printed["speed"]["nodes_per_second"]) == (150, 75)
    expected = (round(150 / 1.4), 0.7, False) if has_compiler else (None, None, None)
    assert (
        tuple(printed["speed"][name] for name in ("c_nodes_per_second", "ratio", "reached"))
        == expected
    )
    assert bench.main([]) == (1 if has_compiler else 0)
    lines = capsys.readouterr().out.splitlines()
    assert ("0.70 (wanted 0.80, reached: no)" in lines[-1]) == has_compiler


def test_depths_and_ablation_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--deepen and --ablation print JSON with the nodes of the same searches."""
    assert bench.main(["--deepen", "tic-tac-toe", "--depth", "3", "--rounds", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["game"], [row["depth"] for row in printed["depths"]]) == (
        "tic-tac-toe",
        [1, 2, 3],
    )
    assert bench.main(["--deepen", "tic-tac-toe", "--depth", "3", "--rounds", "1"]) == 0
    assert [
        int(line.split()[1].replace(",", "")) for line in capsys.readouterr().out.splitlines()[1:]
    ] == [row["nodes"] for row in printed["depths"]]
    monkeypatch.setattr(bench, "CASES", (bench.Case("connect-four", "d d d d d", 5),))
    assert bench.main(["--ablation", "--table-bits", "1", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["nothing", *features.FEATURE]
    assert printed["nothing"]["all"] == bench.node_counts(features.ALL, 1)["connect-four"]
