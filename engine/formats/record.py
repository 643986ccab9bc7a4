"""A game as a value: what a file of any format holds, and what a store or a reader makes. Pure.

Every format writes and reads this one value. It has all that a game needs to be played again: the
start, the moves as tokens, and who won. What a format cannot say is None, "" or empty.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import Struct, structs

from engine.ends import has_result
from engine.game import Game, GameError, GameFault

#: Finds a game by its id; raises UnknownGame (a GameError) or an error of a broken rules file.
FindGame = Callable[[str], Game]


class Seat(Struct, frozen=True, omit_defaults=True):
    """A player of a game, as they were called then.

    `kind` is `guest`, `ai`, another word of the server's logs, or `name` for a name from a file.
    `level`, `persona`, `strategy`, `depth` and `evaluator` are those of an AI.
    """

    name: str
    kind: str = "name"
    level: int | None = None
    strategy: str | None = None
    persona: str | None = None
    depth: int | None = None
    evaluator: str | None = None


class Move(Struct, frozen=True, omit_defaults=True):
    """A move of a game.

    - `token` is the move as logs have it, and `text` its notation ("Nf3+"); None where it is not
      known, and in games that write tokens.
    - `spent_ms` is the time that the move took, `clock_ms` what its player's clock showed after it.
    - `eval` is an evaluation of the position after the move as in PGN, "0.25", "#-3" or "0.25,18"
      with a depth: for White where a side has that name, otherwise for the first seat.
    - `nags` are numeric annotations of PGN, `comment` is one or more lines of text.
    """

    token: str
    text: str | None = None
    spent_ms: int | None = None
    clock_ms: int | None = None
    eval: str | None = None
    comment: str = ""
    nags: tuple[int, ...] = ()


class Over(Struct, frozen=True, omit_defaults=True):
    """The end of a game: the winning seat, None when nobody won, and the reason for people.

    `how` is a word of `Finished.how` ("board", "resign", "abort", …), or "" where a file does not
    say. `points` are those of both seats.
    """

    winner: int | None
    how: str = ""
    reason: str = ""
    points: tuple[int, int] | None = None

    @property
    def has_result(self) -> bool:
        """Whether a seat won or the game was drawn. Without a word for the end it was drawn if
        nobody won.
        """
        return not self.how or has_result(self.winner, self.how)


class GameRecord(Struct, frozen=True, omit_defaults=True):
    """A game from its start to its last move.

    - `match` is the id of the match on a server, "" for a game from elsewhere.
    - `options` are all options of the game with their values; `rules` is the digest of the rules
      that it was played by, "" if unknown.
    - `start` is the start position as text, which `Game.position` reads.
    - `seats` are both players; `over` is None for a game without a result.
    - Times are in ms since 1970, None if unknown.
    - `tags` are what a file says besides ("Event", "Site", "Round", "Opening", …), by the names of
      PGN; `comment` stands before the first move.
    - `thoughts` are the reports of the AI's searches by ply, as JSON values, where they may be
      seen; `extra` are keys of JSON lines that this version does not know.
    """

    match: str
    game: str
    options: dict[str, str]
    rules: str
    start: str
    seats: tuple[Seat, ...]
    moves: tuple[Move, ...]
    over: Over | None = None
    started_ms: int | None = None
    finished_ms: int | None = None
    tags: dict[str, str] = {}
    comment: str = ""
    thoughts: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class BadGame(Struct, frozen=True):
    """A game of a file that a reader skipped: where it stands, what stands there, and what was
    expected. `number` counts the games of the file, `line` and `column` its characters, from 1.
    """

    number: int
    line: int
    column: int
    found: str
    expected: str

    def __str__(self) -> str:
        place = f"game {self.number}, line {self.line}, column {self.column}"
        return f"{place}: {self.found!r} stands there, {self.expected} was expected"


class Unwritable(Exception):
    """A format cannot write a game; the message is a sentence without a full stop that says why."""


@cache
def white_seat(game: Game, options: tuple[tuple[str, str], ...]) -> int | None:
    """The seat of the side that is called White; None in a game without one."""
    names = [seat.name for seat in game.board(dict(options)).seats]
    return names.index("White") if "White" in names else None


@cache
def standard_start(game: Game, options: tuple[tuple[str, str], ...]) -> str:
    """The position at the start of a game with these options, as text."""
    return game.start(dict(options)).text()


def with_texts(record: GameRecord, game: Game) -> GameRecord:
    """The record with the notation of each move, in a game that has one.

    Moves that lack it, as in old logs, are replayed. Raises Unwritable if the rules refuse them.
    """
    if game.rules.notation is None or all(move.text is not None for move in record.moves):
        return record
    moves: list[Move] = []
    try:
        position = game.position(record.start, record.options)
        for move in record.moves:
            position = position.replay(move.token)
            moves.append(structs.replace(move, text=move.text or position.played()))
    except (GameError, GameFault) as error:
        raise Unwritable(f"the rules no longer allow move {len(moves) + 1}: {error}") from error
    return structs.replace(record, moves=tuple(moves))
