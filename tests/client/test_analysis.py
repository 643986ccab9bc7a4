"""`plyroom analyse` and `plyroom replay --analyse`: the graph, the marks, the summary."""

import asyncio
import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from client.analyses import (
    AnalysedPosition,
    AnalysisReport,
    AnalysisSummary,
    MarkCounts,
    TurningPoint,
)
from client.api import MatchRecord
from client.cli import main
from client.subcommands import analyse as command
from client.terminal import analysis
from client.terminal.output import Output
from client.terminal.replay import print_match
from server.events import Occupant
from server.protocol.messages import Played
from tests.support.analyses import WON, analysing_server, play_match
from tests.support.node import serve

MARKS = (None, "inaccuracy", "mistake", "blunder")


def record(plies: int) -> MatchRecord:
    """A match with `plies` moves."""
    return MatchRecord(
        match="m1", room="r1", game="chess", title="Chess", number=1,
        seats=(Occupant("a", "Ada"), Occupant("b", "Ben")), over=None, plies=plies,
        options={}, start="", moves=tuple(Played(f"m{ply}") for ply in range(plies)), view=None,
    )  # fmt: skip


def positions(chances: list[int]) -> tuple[AnalysedPosition, ...]:
    """The analysis of positions with these chances; every fifth position has a mark."""
    return tuple(
        AnalysedPosition(
            ply, chance, ply % 2, line=f"{ply + 1}. best", loss=0.01 * (ply % 5) ** 2,
            mark=MARKS[ply // 5 % 4] if ply % 5 == 4 else None,
            says_mark="Mistake: it was bad." if ply % 5 == 4 and ply // 5 % 4 else "",
        )
        for ply, chance in enumerate(chances)
    )  # fmt: skip


@given(st.lists(st.integers(0, 100), min_size=1, max_size=300), st.integers(20, 200), st.booleans())
def test_the_graph_fits(chances: list[int], width: int, has_blocks: bool) -> None:
    """The graph is never wider than the output, and is ASCII if the output cannot show blocks.

    A higher chance is never drawn lower.
    """
    graph = analysis.draw_graph(record(len(chances)), positions(chances), width, has_blocks)
    lines = graph.lines
    assert all(len(line) <= max(width, 44) for line in lines)
    assert has_blocks or all(line.isascii() for line in lines)
    rows = [line[analysis.LABEL_WIDTH :] for line in lines[1 : 1 + analysis.GRAPH_LINES]]
    blocks = analysis.BLOCKS if has_blocks else analysis.ASCII_BLOCKS
    if len(chances) <= width - analysis.LABEL_WIDTH:
        heights = [
            sum(max(0, blocks.rindex(row[i])) if i < len(row) else 0 for row in rows)
            for i in range(len(chances))
        ]
        ordered = [height for _, height in sorted(zip(chances, heights, strict=True))]
        assert ordered == sorted(ordered)
        assert all(height > 0 for chance, height in zip(chances, heights, strict=True) if chance)


def test_the_progress() -> None:
    """The progress is a bar with numbers, or the number of analyses ahead in the queue."""
    running = AnalysisReport("running", plies=60, done_plies=20)
    assert analysis.progress_text(running) == f"[{'#' * 10}{'.' * 20}] 20 of 60 positions"
    waiting = AnalysisReport("queued", plies=60, done_plies=0, ahead=1)
    assert analysis.progress_text(waiting) == "Waiting: 1 analysis is before this one"


def test_a_replay_shows_the_analysis() -> None:
    """`replay --analyse` prints the graph and the summary first, and beside each position the
    chance, the better line and what a marked move lost.
    """
    data = io.StringIO()
    output = Output(data, io.StringIO(), interactive=False)
    counts = (MarkCounts(0, 1, 0), MarkCounts(1, 0, 0))
    report = AnalysisReport(
        "done", 11, 11, moves=positions([50] * 11),
        summary=AnalysisSummary(
            (97.3, None), counts, (TurningPoint(4, "1. m4 turned the match."),)
        ),
    )  # fmt: skip
    print_match(record(10), [], output, None, report)
    text = data.getvalue()
    assert "First's chance to win" in text
    assert "First (Ada): accuracy 97.3 %, 0 inaccuracies, 1 mistake, 0 blunders" in text
    assert "Turning points:\n  1. m4 turned the match." in text
    assert "  Mistake: it was bad.\n  Better: 10. best" in text
    assert text.count("Analysis: First 50 % to win") == 11


async def test_a_match_is_analysed_on_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plyroom analyse` requests the analysis as a guest, waits for it and prints it.

    A second call, as the same guest, reads it. For a match that cannot be analysed it prints the
    reason.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    fake = analysing_server(search_s=0.01)
    match, running = await play_match(fake, *WON), await play_match(fake, "b2")
    async with serve(fake) as node:

        def run(match_id: str, *options: str) -> tuple[int, str]:
            arguments = ["analyse", match_id, "--url", f"http://{node.host}", *options]
            result = CliRunner().invoke(main, arguments)
            return result.exit_code, result.output

        code, text = await asyncio.to_thread(run, match)
        assert code == 0, text
        assert "chance to win" in text
        assert "accuracy" in text
        assert await asyncio.to_thread(run, match) == (0, text)
        code, as_json = await asyncio.to_thread(run, match, "--json")
        assert (code, '"state":"done"' in as_json) == (0, True)
        code, refusal = await asyncio.to_thread(run, running)
        assert (code, "still running" in refusal) == (1, True)
        assert len(fake.engines.jobs) == 7


def test_a_file_that_is_no_game(tmp_path: Path) -> None:
    """For a file with an illegal move the command prints one line that names the move."""
    file = tmp_path / "bad.pgn"
    file.write_text("1. e4 e4")
    result = CliRunner().invoke(main, ["analyse", str(file)])
    assert result.exit_code == 1
    assert "'e4' stands there, a legal move of Black" in result.output
    assert command.analyse.help is not None


def test_a_folder_and_a_missing_file_are_no_matches(tmp_path: Path) -> None:
    """The command says so, and asks no server."""
    for name, reason in ((".", "is a folder"), ("none.pgn", "there is no file")):
        result = CliRunner().invoke(main, ["analyse", str(tmp_path / name)])
        assert (result.exit_code, reason in result.output) == (2, True)
