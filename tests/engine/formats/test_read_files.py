"""engine/formats/read: files as people have them are read, or refused with the reason.

Each file of `files` is written by hand in the habits of a program or server, with invented names;
beside it stands what it says, line for line.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.formats.read.files import read_games
from engine.formats.record import BadGame, GameRecord
from engine.rules.registry import load_game

FILES = Path(__file__).with_name("files")
EXPECTED = ".expected.jsonl"


def in_parts(content: bytes, size: int) -> Iterator[bytes]:
    """The content in parts of some bytes."""
    return (content[i : i + size] for i in range(0, len(content), size))


def summary(game: GameRecord | BadGame) -> dict[str, Any]:
    """What the expectations say of a game: what it is, and what is not empty."""
    if isinstance(game, BadGame):
        return {"bad": [game.line, game.column, game.found, game.expected]}
    moves = game.moves
    own_start = load_game(game.game).start(game.options).text()
    found = {
        "tags": game.tags,
        "start": "" if game.start == own_start else game.start,
        "started_ms": game.started_ms,
        "comment": game.comment,
        "comments": {f"{ply}": move.comment for ply, move in enumerate(moves) if move.comment},
        "nags": {f"{ply}": list(move.nags) for ply, move in enumerate(moves) if move.nags},
        "evals": {f"{ply}": move.eval for ply, move in enumerate(moves) if move.eval},
        "clock_ms": {f"{i}": move.clock_ms for i, move in enumerate(moves) if move.clock_ms},
        "spent_ms": {f"{i}": move.spent_ms for i, move in enumerate(moves) if move.spent_ms},
        "extra": game.extra,
    }
    over = game.over
    return {
        "game": game.game,
        "seats": [seat.name for seat in game.seats],
        "moves": " ".join(move.token for move in moves),
        "over": None if over is None else [over.winner, over.how, over.reason],
        **{name: value for name, value in found.items() if value},
    }


@pytest.mark.parametrize("size", [10**9, 7])
@pytest.mark.parametrize("name", sorted(path.name for path in FILES.glob("*[!l]")))
def test_files_as_people_have_them(name: str, size: int) -> None:
    """Each game is as its expectation says, or refused at its place with its reason, however the
    file comes in parts.
    """
    lines = (FILES / f"{name}{EXPECTED}").read_text(encoding="utf-8").splitlines()
    wanted = [json.loads(line) for line in lines]
    found = list(read_games(in_parts((FILES / name).read_bytes(), size), load_game))
    assert len(found) == len(wanted)
    for number, (game, want) in enumerate(zip(found, wanted, strict=True), 1):
        got = summary(game)
        if isinstance(game, BadGame) and "bad" in want:
            assert want["bad"][3] in got["bad"].pop()
            want["bad"].pop()
            assert game.number == number
        assert got == want
