"""engine/formats: what our writers wrote comes back through the readers as it was."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.formats.json_lines import format_json_line
from engine.formats.othello_texts import format_ggf, format_transcript
from engine.formats.pdn import GAME_TYPES, format_pdn
from engine.formats.pgn import format_pgn
from engine.formats.read.files import read_games
from engine.formats.record import FindGame, GameRecord, Move, Over
from engine.formats.sgf import NUMBERS, format_sgf
from engine.rules.registry import game_ids, load_game
from tests.support.game_records import random_record

#: Writes a game.
Write = Callable[[GameRecord, FindGame], str]


def read_back(records: list[GameRecord], write: Write) -> list[GameRecord]:
    """The games after one file was written and read."""
    content = "".join(write(record, load_game) for record in records).encode()
    games = []
    for game in read_games([content], load_game):
        assert isinstance(game, GameRecord), (str(game), content.decode())
        games.append(game)
    assert len(games) == len(records), content.decode()
    return games


def told(record: GameRecord, *, has_counters: bool = True) -> dict[str, Any]:
    """What every format but the transcript says of a game."""
    over = record.over
    is_without = over is None or over.how in ("abort", "failure", "noshow")
    start = record.start if has_counters else re.sub(r":H.*", "", record.start)
    return {
        "game": record.game, "options": record.options, "start": start,
        "moves": [move.token for move in record.moves],
        "winner": None if is_without or over is None else (over.winner,),
        "names": [plain(seat.name) for seat in record.seats],
    }  # fmt: skip


def plain(text: str) -> str:
    """A text with single blanks, as in a tag or a comment."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def details(move: Move) -> tuple[Any, ...]:
    """What PGN says of a move besides its token."""
    return move.text, move.spent_ms, move.clock_ms, move.eval, move.nags


def comment_in_braces(text: str) -> str:
    """A comment as braces can hold it, with commands that are only words."""
    words = plain(text.replace("[%", "[ %"))
    return words.replace("{", "(").replace("}", ")")


#: The tags of a game's end.
ENDS = re.compile(r'\[(?:Result|Termination) "[^"]+"\]')


def control_of(record: GameRecord) -> str:
    """The time control; "-" where there is none."""
    return record.tags.get("TimeControl", "-")


def is_kept(record: GameRecord) -> bool:
    """Whether the start of a game is one: not the end of a match."""
    game = load_game(record.game)
    return game.position(record.start, record.options).outcome() is None


def games_of(ids: Iterable[str]) -> st.SearchStrategy[list[GameRecord]]:
    """Some games of these rules."""
    record = st.builds(
        random_record, st.sampled_from(list(ids)), st.integers(0, 10**6), st.integers(0, 40),
        st.booleans(), st.booleans(),
    )  # fmt: skip
    return st.lists(record.filter(is_kept), min_size=1, max_size=3)


@settings(max_examples=60)
@given(games_of(game_ids()))
def test_pgn_comes_back(games: list[GameRecord]) -> None:
    """PGN keeps all but the words for the end: start, moves, notation, times, annotations."""
    for record, read in zip(games, read_back(games, format_pgn), strict=True):
        assert told(read) == told(record)
        assert (read.match, read.rules) == (record.match, record.rules)
        assert read.started_ms == (record.started_ms or 0) // 1000 * 1000
        assert list(map(details, read.moves)) == list(map(details, record.moves))
        reason = "" if record.over is None else record.over.reason
        wanted = [move.comment for move in record.moves]
        if record.moves:
            wanted[-1] = f"{wanted[-1]} {reason}"
        assert [move.comment for move in read.moves] == list(map(comment_in_braces, wanted))
        if record.over is not None and record.over.how == "board" and record.moves:
            assert read.over == record.over
        if record.over is not None and record.over.how == "flag":
            assert read.over == Over(record.over.winner, "flag", "time forfeit")
        if record.over is not None and record.over.how == "noshow":
            assert (read.over, read.tags["Termination"]) == (None, "time forfeit")
        texts = [format_pgn(each, load_game) for each in (read, record)]
        assert ENDS.findall(texts[0]) == ENDS.findall(texts[1])
        assert control_of(read) == control_of(record)


@settings(max_examples=25)
@given(games_of(game_ids()))
def test_json_lines_come_back(games: list[GameRecord]) -> None:
    """JSON lines lose nothing."""
    assert read_back(games, format_json_line) == games


@settings(max_examples=25)
@given(games_of(GAME_TYPES))
def test_pdn_comes_back(games: list[GameRecord]) -> None:
    """PDN keeps what PGN does, but for the counters of a position."""
    for record, read in zip(games, read_back(games, format_pdn), strict=True):
        assert told(read, has_counters=False) == told(record, has_counters=False)
        assert list(map(details, read.moves)) == list(map(details, record.moves))


@settings(max_examples=30)
@given(games_of(NUMBERS))
def test_sgf_comes_back(games: list[GameRecord]) -> None:
    """SGF keeps start, moves, clocks, comments, names, and the end with its reason."""
    for record, read in zip(games, read_back(games, format_sgf), strict=True):
        assert told(read) == told(record)
        assert [move.clock_ms for move in read.moves] == [move.clock_ms for move in record.moves]
        assert control_of(read) == control_of(record)
        comments = [[plain(move.comment) for move in each.moves] for each in (read, record)]
        assert comments[0] == comments[1]
        if record.over is not None and record.over.winner is not None and read.over is not None:
            assert read.over.reason == record.over.reason
            assert read.over.how in (record.over.how, "")


@settings(max_examples=25)
@given(games_of(["othello"]))
def test_formats_of_othello_come_back(games: list[GameRecord]) -> None:
    """GGF keeps start, moves, times, names and the result; a transcript keeps the moves."""
    for record, read in zip(games, read_back(games, format_ggf), strict=True):
        assert told(read) == told(record)
        assert [move.spent_ms for move in read.moves] == [move.spent_ms for move in record.moves]
        assert read.started_ms == (record.started_ms or 0) // 1000 * 1000
        has_form = re.fullmatch(r"\d+(\+\d+)?", control_of(record))
        assert control_of(read) == (control_of(record) if has_form else "-")
    start = load_game("othello").start().text()
    plain_games = [game for game in games if game.start == start and len(game.moves) > 1]
    for record, read in zip(plain_games, read_back(plain_games, format_transcript), strict=True):
        # A pass at the very end is not written.
        tokens = [[move.token for move in each.moves] for each in (read, record)]
        assert "".join(tokens[0]).removesuffix("pass") == "".join(tokens[1]).removesuffix("pass")


def test_moves_after_a_draw_come_back() -> None:
    """A game that went on after a draw by the rules is written and read with all its moves."""
    text = "1. Nf3 Nf6 2. Ng1 Ng8 " * 4 + "e4 e5 1-0"
    (game,) = read_games([re.sub(r"\d\. ", "", text).encode()], load_game)
    assert isinstance(game, GameRecord)
    assert game.extra["played_on"]["plies"] == 16
    for write in (format_pgn, format_json_line):
        (read,) = read_back([game], write)
        assert read == structs.replace(game, tags=read.tags)
