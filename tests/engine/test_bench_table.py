"""The table of the engine's measurements: its rows, with small tasks, and its command."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.bench import rows as bench_rows
from engine.bench import search as bench
from engine.bench import table as bench_table
from engine.bench.rows import LeftOut, Missing, Peer, Row
from engine.game import Position
from engine.rules.registry import load_game
from engine.solvers.base import BatchResult, Problem
from tests.engine import search_peers


@pytest.fixture(autouse=True)
def short_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the signature that the command prints."""
    monkeypatch.setattr(bench, "CASES", bench.CASES[5:7])


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Runs the command; returns its exit code and its JSON."""
    code = bench_table.main([*words, "--json"])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, printed


# --- rows


@pytest.mark.parametrize(
    ("row", "ratio", "reached"),
    [
        (Row("t", "s", 2.0, (Peer("p", 6.0),), 3.0), 3.0, True),
        (Row("t", "s", 4.0, (Peer("p", 6.0),), 3.0), 1.5, False),
        (Row("t", "Mn/s", 4.0, (Peer("p", 8.0),), 3.0), 0.5, True),
        (Row("t", "Mn/s", 2.0, (Peer("p", 1.0),), 3.0), 2.0, False),
        (Row("t", "us", 2.0, (Peer("p", 1.0),)), 0.5, None),
        (Row("t", "us", 2.0, (Peer("p", 4.0),), 3.0, is_right=False), 2.0, False),
        (Row("t", "us", 2.0, (Peer("p", 4.0),), is_right=False), 2.0, False),
    ],
)
def test_ratio_and_target(row: Row, ratio: float, reached: bool | None) -> None:
    """A ratio above 1 favours us, for times and for rates; a row with a wrong result is a miss."""
    assert (row.ratio(row.peers[0]), row.reached) == (ratio, reached)


def test_the_text_of_a_row() -> None:
    """Each peer has a line, a published time has a star, and a wrong result is marked."""
    row = Row(
        "task", "s", 0.1234, (Peer("one", 1.0), Peer("two", 200.0, False)), 0.1, note="9 nodes"
    )
    first, second, note = bench_table.format_row(row)
    assert [cell.strip() for cell in first.split("|")[1:-1]] == [
        "task", "0.123 s", "one*", "1.00 s", "8.10", "0.100 s", "**no**",
    ]  # fmt: skip
    assert [cell.strip() for cell in second.split("|")[1:-1]] == [
        "",
        "",
        "two",
        "200 s",
        "1,621",
        "",
        "",
    ]
    assert note == "  9 nodes"
    (only,) = bench_table.format_row(Row("task", "s", 0.1, is_right=False))
    assert "**wrong**" in only


# --- small tasks


def test_connect_four_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row is the mean over a file; a wrong score marks the row and gives exit code 1."""
    file = tmp_path / "connect4-end-easy.txt"
    for second_line, is_right in ("223344 18", True), ("223344 17", False):
        file.write_text(f"112233 18\n{second_line}\n")
        code, printed = run_command(
            capsys, "--suites", str(tmp_path), "--only", "solving end-easy", "--rounds", "2"
        )
        (row,) = printed["rows"]
        assert (code, row["is_right"]) == (int(not is_right), is_right)
        assert row["ours"] > 0
        assert row["peers"][0]["ratio"] == pytest.approx(4.7 / row["ours"])
        assert "mean of 2 positions" in row["note"]
    file.write_text("112233\n")
    code, printed = run_command(capsys, "--suites", str(tmp_path), "--only", "solving end-easy")
    assert "without a score" in printed["left_out"][0]["why"]


def best_lead(position: Position) -> int:
    """Returns the lead of the side to move with best play, by exhaustive search.

    Empty cells count for the winner.
    """
    if moves := position.moves():
        return max(-best_lead(position.play(move)) for move in moves)
    mine, others = (int(word).bit_count() for word in position.state[:2])
    empty = 64 - mine - others
    return mine - others + (empty if mine > others else -empty if mine < others else 0)


def test_othello_endgames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row solves positions by their numbers and checks the scores."""
    lines = []
    for first_move in (0, 1):
        position = (
            load_game("othello").start().play(load_game("othello").start().moves()[first_move])
        )
        while 64 - sum(int(word).bit_count() for word in position.state[:2]) > 5:
            moves = position.moves()
            position = position.play(moves[len(moves) // 2])
        lines.append(f"{position.text()}; A1:{best_lead(position):+d};")
    (tmp_path / bench_rows.FFO_FILE).write_text("\n".join(lines) + "\n")
    row = bench_rows.measure_ffo(tmp_path, 40, 41, 1, 60.0)
    assert (row.is_right, row.task, row.wanted) == (True, "othello, FFO 40-41", None)
    (tmp_path / bench_rows.FFO_FILE).write_text(
        lines[0].replace("A1:", "A1:+2; B1:+64; A2:") + "\n"
    )
    assert not bench_rows.measure_ffo(tmp_path, 40, 40, 1, 60.0).is_right
    with pytest.raises(Missing, match="no number 44"):
        bench_rows.measure_ffo(tmp_path, 40, 44, 1, 60.0)
    unsolved = SimpleNamespace(
        solve_batch=lambda *_, **__: BatchResult((None,), (9,), 1.0), expire=lambda: None
    )
    monkeypatch.setattr(bench_rows, "load_suite", lambda *_: (unsolved, [Problem(position, 0)]))
    with pytest.raises(Missing, match="not solved within 60 s"):
        bench_rows.measure_ffo(tmp_path, 40, 40, 1, 60.0)


def test_draughts() -> None:
    """The rows have the times to depth 16 at most and to the full depth, and the node speed."""
    shallower, last, speed = bench_rows.measure_draughts(5, 1)
    assert [shallower.task, last.task] == ["draughts, to depth 5", "draughts, to depth 5"]
    nodes = int(last.note.split()[0].replace(",", ""))
    assert speed.ours == pytest.approx(nodes / last.ours / 1e6)
    assert (last.wanted, speed.wanted) == (2.0, 6.0)


#: A UCI program that reports a fixed number of nodes.
PROGRAM = """#!{python}
import sys
for line in sys.stdin:
    if line == "uci\\n":
        print("id name Planted\\nuciok", flush=True)
    elif line == "isready\\n":
        print("readyok", flush=True)
    elif line.startswith("go"):
        print("info depth 1 score cp 0 nodes {nodes}\\nbestmove a1a1", flush=True)
    elif line == "quit\\n":
        break
"""


def test_chess_compared_with_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row has our nodes per second and those of the programs that report any."""
    for name, nodes in ("planted-chess", 1000), ("silent-chess", 0):
        file = tmp_path / name
        file.write_text(PROGRAM.format(python=sys.executable, nodes=nodes))
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(bench_rows, "CHESS", bench_rows.CHESS[:3])
    # The times before and after each run, first of one position, then of all.
    cpu_s = iter([0.0, 0.3, 0.3, 1.1, 1.1, 1.2, 1.2, 1.4])
    monkeypatch.setattr(bench_rows, "children_seconds", lambda: next(cpu_s))
    row, left_out = bench_rows.measure_chess(
        400, 1, 10, ("planted-chess", "no-such-chess", "silent-chess")
    )
    assert row.peers[0].name == "planted-chess"
    assert not row.peers[0].is_published
    assert row.peers[0].value * 1e6 == pytest.approx(2 * 1000 / 0.5), (
        "the nodes of two positions by the time without the program's start"
    )
    assert [row.why for row in left_out] == ["it is not installed", "it reports no nodes"]
    assert row.ours > 0


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compare with")
def test_compared_with_c() -> None:
    """The row has the median ratio of two searches with the same nodes."""
    row = bench_rows.measure_alpha_beta(4, 3)
    assert row.wanted == pytest.approx(row.peers[0].value / bench.TARGET_RATIO)
    assert "nodes on both sides" in row.note


@pytest.mark.parametrize(
    "measure",
    [lambda: bench_rows.measure_alpha_beta(1, 1), lambda: bench_rows.measure_node_speed(1)],
)
def test_without_a_compiler(measure: Callable[[], Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a C compiler the rows that compare with C are left out, with the reason."""
    monkeypatch.setattr(bench, "c_root", lambda folder: None)
    with pytest.raises(Missing, match="no gcc"):
        measure()


# --- the command


def test_missing_files_are_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Rows whose files of positions are missing are left out, and the exit code is 0."""
    code, printed = run_command(capsys, "--only", "solving", "--only", "FFO", "--long")
    assert (code, printed["rows"], printed["is_complete"]) == (0, [], False)
    assert len(printed["left_out"]) == 3 + 2 + 10
    assert {row["why"] for row in printed["left_out"]} == {"--suites names no folder with its file"}
    assert bench_table.main(["--only", "solving begin", "--suites", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[-2] == "left out: connect four, solving begin-easy: there is no file"
        f" {tmp_path}/connect4-begin-easy.txt"
    )
    assert lines[-1] == "0 rows, 1 left out: the table is incomplete"
    assert any(line.startswith("tic-tac-toe") for line in lines), "the signature"


def test_rows_of_another_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--add` adds the rows of a JSON file of this command or of the peers' command."""
    file = tmp_path / "rows"
    row = Row("task", "s", 1.0, (Peer("one", 2.0, False),), 3.0)
    file.write_text(
        bench.as_json({"rows": [row], "left_out": [LeftOut("other", "why")], "more": 1})
    )
    _, printed = run_command(capsys, "--only", "beside", "--add", str(file))
    assert printed["rows"] == [bench_table.as_dict(row)]
    assert printed["left_out"] == [{"task": "other", "why": "why"}]
    file.write_text(json.dumps(printed))
    assert run_command(capsys, "--only", "beside", "--add", str(file))[1]["rows"] == printed["rows"]
    file.write_text("")
    for path, why in (str(file), "has no rows"), (str(tmp_path / "none"), "cannot be read"):
        code, printed = run_command(capsys, "--only", "beside", "--add", path)
        assert code == 0
        assert why in printed["left_out"][0]["why"]
    assert run_command(capsys, "--only", "beside")[1]["left_out"][0]["why"] == bench_table.NOT_ADDED


def test_rows_of_the_peers_command() -> None:
    """A row has the measured time of a peer that ran, otherwise the published one.

    The plain search has a row of its own if `also_plain` is set.
    """
    first, second = search_peers.ROWS[:2]
    measured = search_peers.Measurement(0.004, 0.002, 0.05, 1000, peer_s=0.8)
    rows = search_peers.as_rows(first, measured)
    assert [(row.ours, row.wanted, row.reached) for row in rows] == [
        (2.0, 16.0, True),
        (50.0, 16.0, False),
    ]
    assert rows[0].peers == (Peer("OpenSpiel, C++", 800.0, False),)
    unmeasured = search_peers.Measurement(
        0.004, 0.002, 0.05, 1000, None, missing_reason="it is not installed"
    )
    (row,) = search_peers.as_rows(second, unmeasured)
    assert row.peers == (Peer("easyAI", 35, True),)
    assert any("it is not installed" in line for line in search_peers.lines(second, unmeasured))


def test_without_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the table has no commit."""

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    assert bench_table.measuring_context()["commit"] == "not a checkout"
