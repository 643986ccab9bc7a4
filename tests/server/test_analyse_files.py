"""server/ops/analyse.py: the games of a file are listed, analysed, or refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engine.formats.read.pgn import parse_pgn
from engine.formats.record import BadGame
from engine.rules.registry import load_game
from server.ops import analyse

TWO = """\
[White "Ann"]
[Black "Bob"]

1. e4 e5 2. Nf3 1-0

[Game "draughts"]
[White "Wendy"]

1. 11-15 23-19 0-0

1. d4 e5 2. Ke5 *

[Game "rock-paper-scissors"]

*
"""


def run(content: bytes, folder: Path, *options: str) -> Result:
    """The command with a file of this content."""
    file = folder / "game.pgn"
    file.write_bytes(content)
    return CliRunner().invoke(analyse.main, [str(file), *options])


def test_the_games_of_a_file_are_listed(tmp_path: Path) -> None:
    """A file of several games is listed; a bad one is named by line and column."""
    lines = [json.loads(line) for line in run(TWO.encode(), tmp_path).output.splitlines()]
    assert lines == [
        {"listed": 1, "title": "Chess", "names": ["Ann", "Bob"], "length": "2 moves",
         "result": "Ann won"},
        {"listed": 2, "title": "Draughts", "names": ["Black", "Wendy"], "length": "1 move",
         "result": "a draw"},
        {"listed": 3, "problem": "line 11, column 13: 'Ke5' stands there, a legal move of White "
                                 "(no white king may go to e5) was expected"},
        {"listed": 4, "title": "Rock, paper, scissors", "names": ["First", "Second"],
         "length": "0 moves", "result": "no result"},
    ]  # fmt: skip
    piped = CliRunner().invoke(analyse.main, ["-"], input=TWO.encode())
    assert piped.output.count("\n") == 4


#: Part of the message by the content of a file and the options.
REFUSED: dict[tuple[bytes, tuple[str, ...]], str] = {
    (b"", ()): "there is no game in it",
    (b"*", ()): "the game has no moves",
    (b"\x89PNG\r\n\x1a\n\x00", ()): "game 1, line 3, column 1: ",
    ("1. e5 {André}".encode("latin-1"), ()): "game 1, line 1, column 4: 'e5' stands there",
    (b"x" * 2_000_000, ()): "a line of at most 1,048,576 bytes was expected",
    (b'[Game "rock-paper-scissors"] 1. rock', ()): "no search that could analyse it",
    (TWO.encode(), ("--number", "3")): "game 3, line 11, column 13",
    (TWO.encode(), ("--number", "9")): "has no game 9: it has 4",
}


@pytest.mark.parametrize(("content", "options"), REFUSED, ids=list(REFUSED.values()))
def test_a_file_that_cannot_be_analysed(
    content: bytes, options: tuple[str, ...], tmp_path: Path
) -> None:
    """The command names the file and the reason in one line, with status 1."""
    result = run(content, tmp_path, *options)
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {tmp_path / 'game.pgn'}")
    assert REFUSED[content, options] in result.output
    assert result.output.count("\n") == 1


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The reason is that of the system."""
    result = CliRunner().invoke(analyse.main, [str(tmp_path / "none.pgn")])
    assert result.exit_code == 2
    assert "does not exist" in result.output
    result = run(b"", tmp_path, "--all", "--number", "1")
    assert (result.exit_code, "choose" in result.output) == (2, True)


def test_the_games_of_a_file_are_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--number` analyses one game and `--all` each that can be; the others are listed."""
    analysed: list[analyse.FileGame] = []

    async def take(games: Any) -> None:
        analysed.extend(games)

    monkeypatch.setattr(analyse, "_print_analyses", take)
    assert run(TWO.encode(), tmp_path, "--number", "2").exit_code == 0
    (game,) = analysed
    entry = analyse.match_entry(game)
    assert [seat["name"] for seat in entry["seats"]] == ["Black", "Wendy"]
    assert entry["over"]["winner"] is None
    assert [move["text"] for move in entry["moves"]] == ["11-15", "23-19"]
    analysed.clear()
    result = run(TWO.encode(), tmp_path, "--all")
    assert [game.name for game in analysed] == ["game.pgn, game 1", "game.pgn, game 2"]
    assert result.exit_code == 1
    listed = [json.loads(line)["listed"] for line in result.output.splitlines()[:2]]
    assert listed == [3, 4]
    assert "2 games could not be analysed" in result.output


def test_a_game_that_went_on_after_its_end_is_analysed() -> None:
    """Its positions are those of its moves, also after a draw by the rules."""
    (game,) = parse_pgn([b"Nf3 Nf6 Ng1 Ng8 " * 4 + b"e4 e5 1-0"], load_game)
    assert not isinstance(game, BadGame)
    file_game = analyse._analysable(game, "game.pgn", None)
    assert len(file_game.positions) == 19
    assert file_game.positions[16].outcome() is not None
    assert file_game.positions[-1].outcome() is None
