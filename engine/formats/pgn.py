"""Portable Game Notation: chess as the standard of 1994 writes it, and every other game likewise.

    [Event "Match 3"]
    [Site "?"]
    [Date "2026.11.28"]
    [Round "?"]
    [White "Ada"]
    [Black "AI level 3"]
    [Result "1-0"]

    1. e4 {[%emt 0:00:03.2]} e5 2. Qh5 Ke7 3. Qxe5# {checkmate} 1-0

A game that is not chess names itself in the tag `Game`, its options in one tag `Option` each, and
its start, if it is a special one, in `Start`; its moves are those of the game's own notation, or
tokens. `White` and `Black` are the players of the sides with these names, whoever begins, and the
first number of a result is White's. Games without such sides have `First` and `Second`. Pure.

The format is that of the "PGN specification and implementation guide" (1994), section numbers are
its own. `[%clk]`, `[%emt]` and `[%eval]` are commands in comments that many programs write.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from engine.formats.record import (
    FindGame,
    GameRecord,
    Move,
    Over,
    Unwritable,
    standard_start,
    white_seat,
    with_texts,
)
from engine.game import Game, GameError, GameFault

#: The game of a text without the tag `Game`.
CHESS = "chess"
#: The tags that each game begins with, in this order (8.1.1). Those of games without White and
#: Black have `First` and `Second` in their place.
ROSTER = ("Event", "Site", "Date", "Round", "White", "Black", "Result")
#: Maximum length of a line of moves, in characters (4.3: less than 80).
LINE = 79
#: A tag's name (7).
TAG_NAME = re.compile(r"[A-Za-z0-9_]+")
#: The tag `Termination` for each way in which a match ends (9.8.1); "normal" for the others.
TERMINATIONS = {
    "abort": "abandoned", "gone": "abandoned", "failure": "emergency", "flag": "time forfeit",
    "noshow": "time forfeit", "forfeit": "rules infraction",
}  # fmt: skip
#: A word of a comment, or a command in it.
WORD = re.compile(r"\[%[^\]]*\]|\S+")


def format_pgn(record: GameRecord, find_game: FindGame) -> str:
    """The text of a game, which ends with an empty line.

    Raises Unwritable for a chess game whose moves have no notation and can no longer be replayed.
    """
    game = find_or_none(record, find_game)
    if game is not None:
        record = with_texts(record, game)
    elif record.game == CHESS and any(move.text is None for move in record.moves):
        raise Unwritable("its moves have no notation, and the rules of chess are not here")
    sides = sides_of(record, game)
    tags = [*roster(record, sides), *_own_tags(record, game), *further_tags(record, sides)]
    begins_black = record.game == CHESS and record.start.split(" ")[1:2] == ["b"]
    return format_text(record, tags, _first_number(record), begins_black, sides.result)


class Sides(NamedTuple):
    """How a file names the two players: their tags, each with the seat, and the result."""

    tags: tuple[tuple[str, int], tuple[str, int]]
    result: str


def find_or_none(record: GameRecord, find_game: FindGame) -> Game | None:
    """The game of a record; None if it is gone or its rules file is broken."""
    try:
        return find_game(record.game)
    except Exception:  # a rules file of a plug-in may raise anything
        return None


def sides_of(record: GameRecord, game: Game | None) -> Sides:
    """How the players of a game are named: White and Black where a side is called White."""
    white = None
    if game is not None:
        try:
            white = white_seat(game, tuple(record.options.items()))
        except (GameError, GameFault):
            white = None
    first = white or 0
    names = ("First", "Second") if white is None else ("White", "Black")
    return Sides(((names[0], first), (names[1], 1 - first)), result_text(record.over, first))


def result_text(over: Over | None, first: int) -> str:
    """A result with the points of this seat before those of the other; "*" for none."""
    if over is None or not over.has_result:
        return "*"
    if over.winner is None:
        return "1/2-1/2"
    return "1-0" if over.winner == first else "0-1"


def roster(record: GameRecord, sides: Sides) -> Iterator[tuple[str, str]]:
    """The seven tags that come first."""
    values = {tag: record.tags.get(tag, "") for tag in ROSTER}
    (first, seat), (second, other) = sides.tags
    if record.started_ms is not None:
        values["Date"] = moment(record.started_ms).strftime("%Y.%m.%d")
    for tag in ROSTER[:4]:
        yield tag, values[tag] or ("????.??.??" if tag == "Date" else "?")
    yield first, record.seats[seat].name or "?"
    yield second, record.seats[other].name or "?"
    yield "Result", sides.result


def _own_tags(record: GameRecord, game: Game | None) -> Iterator[tuple[str, str]]:
    """The tags of the game, its options and its start."""
    if record.game != CHESS:
        yield "Game", record.game
        for name, value in record.options.items():
            yield "Option", f"{name}={value}"
    if not is_standard(record, game):
        if record.game == CHESS:
            yield "SetUp", "1"
        yield "FEN" if record.game == CHESS else "Start", record.start


def is_standard(record: GameRecord, game: Game | None) -> bool:
    """Whether the game begins at the start of its rules; False if these are gone."""
    try:
        return (
            game is not None and standard_start(game, tuple(record.options.items())) == record.start
        )
    except (GameError, GameFault):
        return False


def further_tags(record: GameRecord, sides: Sides) -> Iterator[tuple[str, str]]:
    """The tags after those of the start, without those that stand before them."""
    if record.match:
        yield "Match", record.match
    if record.rules:
        yield "Rules", record.rules
    if record.started_ms is not None:
        yield "UTCDate", moment(record.started_ms).strftime("%Y.%m.%d")
        yield "UTCTime", moment(record.started_ms).strftime("%H:%M:%S")
    for tag, seat in sides.tags:
        kind = record.seats[seat].kind
        if kind != "name":
            yield f"{tag}Type", "program" if kind == "ai" else "human"
    written = {*ROSTER, *OWN_TAGS, "First", "Second"}
    for tag, value in record.tags.items():
        if tag not in written and TAG_NAME.fullmatch(tag):
            yield tag, value
    has_clocks = any(move.clock_ms is not None for move in record.moves)
    if record.match and not has_clocks and "TimeControl" not in record.tags:
        yield "TimeControl", "-"
    yield "Termination", termination(record)


#: The tags that follow from the other fields of a record.
OWN_TAGS = (
    "Game", "Option", "SetUp", "FEN", "Start", "GameType", "Match", "Rules", "UTCDate", "UTCTime",
    "WhiteType", "BlackType", "FirstType", "SecondType", "Termination",
)  # fmt: skip


def termination(record: GameRecord) -> str:
    """The value of the tag `Termination`; of a game without an end, what a file has said of it."""
    if record.over is None:
        return record.tags.get("Termination", "unterminated")
    return TERMINATIONS.get(record.over.how, "normal")


def moment(ms: int) -> datetime:
    """A time in ms since 1970, in UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def _first_number(record: GameRecord) -> int:
    """The number of the first move: that of a FEN, otherwise 1."""
    fields = record.start.split(" ")
    is_fen = record.game == CHESS and len(fields) == 6
    return int(fields[5]) if is_fen and fields[5].isdecimal() else 1


def format_text(
    record: GameRecord,
    tags: Iterable[tuple[str, str]],
    number: int,
    begins_black: bool,
    result: str,
    repeats_number: bool = True,
) -> str:
    """Tags and moves as text. `number` is that of the first move, which Black may make.

    `repeats_number` says whether Black's move after a comment has its number once more (8.2.2.2).
    """
    head = "".join([f'[{name} "{_escaped(value)}"]\n' for name, value in tags])
    words = _words(record, number, begins_black, repeats_number)
    return f"{head}\n{_lines([*words, result])}\n\n"


def _escaped(value: str) -> str:
    """The value of a tag between its quotes (7): on one line, without control characters."""
    plain = "".join([each if each.isprintable() else " " for each in value])
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _words(
    record: GameRecord, number: int, begins_black: bool, repeats_number: bool
) -> Iterator[str]:
    """The words of the moves: numbers, moves, annotations and comments."""
    yield from comment_words(record.comment)
    needs_number = True
    reason = "" if record.over is None else record.over.reason
    last = len(record.moves) - 1
    for index, move in enumerate(record.moves, int(begins_black)):
        if index % 2 == 0:
            yield f"{number + index // 2}."
        elif needs_number:
            yield f"{number + index // 2}..."
        yield move.text or move.token
        for nag in move.nags:
            yield f"${nag}"
        comment = comment_words(_comment(move, reason * (index - int(begins_black) == last)))
        yield from comment
        needs_number = bool(comment) and repeats_number
    if not record.moves:
        yield from comment_words(reason)


def _comment(move: Move, reason: str) -> str:
    """The comment after a move: its clock, its time, its evaluation, its words, and the reason for
    the end of the game.
    """
    commands = []
    if move.clock_ms is not None:
        commands.append(f"[%clk {time_text(move.clock_ms)}]")
    if move.spent_ms is not None:
        commands.append(f"[%emt {time_text(move.spent_ms)}]")
    if move.eval is not None:
        commands.append(f"[%eval {move.eval}]")
    # Words of people are no commands.
    words = [part.replace("[%", "[ %") for part in (move.comment, reason) if part]
    return " ".join([*commands, *words])


def comment_words(text: str) -> list[str]:
    """The words of a comment in braces, which it cannot contain itself (5); none for no text.

    A command is one word, so that no line ends within it.
    """
    words = WORD.findall(text.replace("{", "(").replace("}", ")"))
    return [f"{'{' * (i == 1)}{word}{'}' * (i == len(words))}" for i, word in enumerate(words, 1)]


def time_text(ms: int) -> str:
    """A time as hours, minutes and seconds, with a fraction that is not zero: "0:01:02.5"."""
    seconds, rest_ms = divmod(ms, 1000)
    fraction = f".{rest_ms:03}".rstrip("0").rstrip(".")
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _lines(words: Iterable[str]) -> str:
    """The words on lines of at most LINE characters; none begins with the sign of an escape (6)."""
    lines: list[str] = []
    line = ""
    for word in words:
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= LINE:
            line = f"{line} {word}"
        elif word.startswith("%"):
            line, _, last = line.rpartition(" ")
            lines += [line] * bool(line)
            line = f"{last} {word}"
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])
