"""The moves of a game from a file, read one by one and checked against the rules. Pure.

Moves are read as people write them (`engine.typed_moves`). Beyond that, files write several cells
as one word (`f5d6c3`, `4453`), leave out passes that a player must make, and go on where our rules
have ended a match in a draw.
"""

import re
from dataclasses import dataclass

from engine.formats.record import Move, Over
from engine.game import (
    ONGOING,
    GameError,
    IllegalMove,
    Outcome,
    Position,
)
from engine.rules.call import RulesCall
from engine.typed_moves import AmbiguousMove, read_move

#: The most moves of a game: the longest that is known of any game of ours has less than a third.
MAX_PLIES = 2000
#: Cells or columns without blanks between them, and passes.
CELLS = re.compile(r"(?>[a-z]\d{1,2}|pa(?:ss)?|ps|--)+", re.IGNORECASE)
CELL = re.compile(r"[a-z]\d{1,2}|pa(?:ss)?|ps|--", re.IGNORECASE)
COLUMNS = re.compile(r"[a-h]{2,}|[1-9]{2,}", re.IGNORECASE)
#: A pass as transcripts of Othello write it.
PASS = re.compile(r"pa(?:ss)?|ps|--+|@@", re.IGNORECASE)
#: A null move, by which programs skip a turn in their analyses.
NULL_MOVE = re.compile(r"--+|Z0|null|@@@@|0000", re.IGNORECASE)


class NullMove(GameError):
    """A null move: no game has one."""


class BadPart(GameError):
    """One of several moves that a word means is not legal."""


class GameIsOver(GameError):
    """A move follows after the end of the match."""


@dataclass(frozen=True, slots=True)
class PlayedOn:
    """The players went on after this number of moves, at which the rules had drawn the match."""

    plies: int
    reason: str


class _Continued(Position):
    """A position in which the rules have drawn the match and the players went on: it has moves."""

    __slots__ = ()

    def _result_and_moves(self) -> tuple[int, list[int]]:
        if self._cached_result is None:
            self._cached_result = ONGOING, _moves_of(self)
        return self._cached_result


def _moves_of(position: Position) -> list[int]:
    """The moves that the rules generate, whether or not the match is drawn."""
    rules = position.game.rules
    with RulesCall(position.game.id, "moves"):
        buffer = [0] * rules.MAX_MOVES
        return buffer[: rules.moves(position.state, buffer)]


class MoveReader:
    """Plays the moves of one game, from `start` on.

    `moves` are those that were read, `turns` the seats that made them, and `played_on` says where
    our rules would have ended the match.
    """

    def __init__(self, start: Position) -> None:
        self.start = start
        self.moves: list[Move] = []
        self.turns: list[int] = []
        self.played_on: PlayedOn | None = None
        self._position = start

    @property
    def position(self) -> Position:
        """The position after the moves."""
        return self._position

    @property
    def turn(self) -> int:
        """The seat to move."""
        return self._position.turn

    def read_plain(self, word: str) -> bool:
        """Plays the move of a word in the form that most files have, if there is a fast way to read
        it; else returns False.
        """
        return False

    def read(self, word: str) -> None:
        """Plays the moves that a word means. Raises GameError and plays none if it means none."""
        if self.read_plain(word):
            return
        count = len(self.moves)
        before = self.position, self.played_on
        try:
            self._read(word)
        except GameError:
            if parts := self._parts(word):
                part = ""
                try:
                    for part in parts:
                        self._read(part)
                except GameError as error:
                    number = len(self.moves) - count + 1
                    del self.moves[count:], self.turns[count:]
                    self._place(before[0])
                    self.played_on = before[1]
                    raise BadPart(f"move {number} of it, {part}: {error}") from error
                return
            raise

    def take(self, token: str) -> None:
        """Plays the move of a token, without its notation. Raises GameError if it is not legal."""
        position = self._checked()
        move = position.parse_move(token)
        self.moves.append(Move(token))
        self.turns.append(position.turn)
        self._place(position.play(move))

    def outcome(self) -> Outcome | None:
        """How the match ended on the board, None if it did not."""
        if self.played_on is not None and _moves_of(self.position):
            return None
        return self._outcome()

    def over(self, written: Over | None) -> Over | None:
        """How the game ended: on the board where that decides it, else as the file says.

        A draw by a rule that counts (repetitions, moves without a capture) decides nothing where
        the file names a winner: not every server plays by it.
        """
        outcome = self.outcome()
        if outcome is None:
            return written
        is_won = written is not None and written.winner is not None
        if outcome.winner is None and is_won and _moves_of(self.position):
            return written
        return Over(outcome.winner, "board", outcome.reason, outcome.points)

    def _outcome(self) -> Outcome | None:
        return self.position.outcome()

    def _read(self, word: str) -> None:
        if len(self.moves) >= MAX_PLIES:
            raise IllegalMove(f"a game has at most {MAX_PLIES} moves")
        self._play(self._checked(), word)

    def _checked(self) -> Position:
        """The position, with moves where the players went on after a draw."""
        position = self.position
        outcome = self._outcome()
        if outcome is None:
            return position
        if outcome.winner is not None or not _moves_of(position):
            raise GameIsOver(f"the game is over: {outcome.reason}")
        if self.played_on is None:
            self.played_on = PlayedOn(len(self.moves), outcome.reason)
        return _Continued(position.game, position.options, position.state, position.last)

    def _play(self, position: Position, word: str) -> None:
        """Plays the move that a word means, after a pass that the player had to make."""
        forced = position.forced_pass()
        if forced is not None and PASS.fullmatch(word):
            word = forced
        elif forced is not None and word.lower() != forced:
            position = self._add(position, forced)
            if (outcome := position.outcome()) is not None:
                raise GameIsOver(f"the game is over: {outcome.reason}")
        elif NULL_MOVE.fullmatch(word) and word not in position.tokens():
            raise NullMove("a null move skips a turn, which no player may")
        self._add(position, _token(position, word))

    def _add(self, position: Position, token: str) -> Position:
        """Adds a legal move and returns the position after it."""
        move = position.parse_move(token)
        text = position.notation(move) if position.game.rules.notation else None
        self.moves.append(Move(token, text))
        self.turns.append(position.turn)
        self._place(position.play(move))
        return self.position

    def _place(self, position: Position) -> None:
        self._position = position

    def _parts(self, word: str) -> list[str]:
        """The cells or columns of a word, if the game's moves name one each; else none."""
        tokens = self.position.tokens()
        if CELLS.fullmatch(word) and all(CELL.fullmatch(each) for each in tokens):
            parts = CELL.findall(word)
            return parts if len(parts) > 1 else []
        if COLUMNS.fullmatch(word) and all(len(each) == 1 for each in tokens):
            return list(word)
        return []


def _token(position: Position, word: str) -> str:
    """The token of the move that a word means."""
    try:
        return read_move(position, word).token
    except AmbiguousMove as error:
        # The signs between two squares are left out: 3228 for 32-28.
        if word.isdecimal() and len(error.choices) == 1 and len(word) == 4:
            return read_move(position, error.choices[0]).token
        raise
