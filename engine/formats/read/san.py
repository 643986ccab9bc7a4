"""Standard algebraic notation, read without a list of all legal moves. Pure.

Most moves of a file are written exactly as the standard says. For them this reader asks which
pieces of the kind attack the target and plays the one that leaves its king safe; it uses the rules'
own attacks and `play`. Whatever else stands there goes to the reader of typed moves.
"""

import re
from collections.abc import Iterable

import numpy as np

from engine.formats.read.moves import MAX_PLIES, MoveReader
from engine.formats.record import Move
from engine.game import Position, State
from engine.games.chess_parts.board import (
    ALL_SQUARES,
    DIAGONALS,
    KING_ATTACKS,
    KINGS,
    KNIGHT_ATTACKS,
    KNIGHTS,
    LINES,
    MISC,
    OWN,
    PAWNS,
    STRAIGHTS,
    THEIRS,
    ZERO,
    diagonal_attacks,
    in_check,
    straight_attacks,
    turn,
)
from engine.games.chess_parts.ending import drawn, repetition, reversible
from engine.games.chess_parts.fen import CELLS
from engine.games.chess_parts.movement import MAX_MOVES, count_moves, moves, play
from engine.jit import U
from engine.rules.call import RulesCall

#: A move in the standard's own form, but for castling.
SAN = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)(x?)([a-h][1-8])(?:=([QRBN]))?[+#]?")
#: The rows, columns and diagonals through each square.
KING_LINES = tuple(
    U(LINES[square] | LINES[64 + square] | LINES[128 + square] | LINES[192 + square])
    for square in range(64)
)
SQUARES = {name: square for square, name in enumerate(CELLS)}
BITS = tuple(U(1 << square) for square in range(64))
PROMOTIONS = {None: 0, "N": 1, "B": 2, "R": 3, "Q": 4}


class SanReader(MoveReader):
    """Plays the moves of a game of chess."""

    def __init__(self, start: Position) -> None:
        super().__init__(start)
        self._state = start.state
        self._last: tuple[State, int] | None = None
        #: The keys of the earlier positions that can still repeat.
        self._past: list[int] = []
        self._key = int(repetition(start.state))
        with RulesCall("chess", "in_check"):
            self._is_check = in_check(start.state)

    @property
    def position(self) -> Position:
        game = self.start.game
        return Position(game, self.start.options, self._state, self._last, tuple(self._past))

    @property
    def turn(self) -> int:
        return turn(self._state)

    def read_plain(self, word: str) -> bool:
        """Plays a move in the standard's form; False if it is none, or none that is legal."""
        if word[0] == "O":
            return self._castle(word)
        san = SAN.fullmatch(word)
        if san is None or len(self.moves) >= MAX_PLIES:
            return False
        letter, file, rank, _, square, promoted = san.groups()
        target = SQUARES[square]
        if (letter == "" and (rank or square[1] in "18") and not promoted) or (
            promoted and (letter or square[1] not in "18")
        ):
            return False
        state = self._state
        with RulesCall("chess", "play"):
            if self._is_drawn():
                return False
            bit = BITS[target]
            if state[OWN] & bit:
                return False
            origins = _attackers(state, letter, target) if letter else _pawns(state, file, target)
            move_bits = target << 6 | PROMOTIONS[promoted] << 12
            legal = self._legal(origins, move_bits, letter == "K")
            found = list(legal)
            if file:
                found = [each for each in found if CELLS[each][0] == file]
            if rank:
                found = [each for each in found if CELLS[each][1] == rank]
            if len(found) != 1:
                return False  # none, or several
            (origin,) = found
            move = origin | move_bits
            is_capture = letter != "" and bool(state[THEIRS] & bit)
            self._advance(legal[origin] or play(state, move), (state, move))
            mark = self._mark()
        start = letter + _named(origin, legal) if letter else file
        takes = "x" if is_capture or (not letter and file) else ""
        text = f"{start}{takes}{square}{'=' + promoted if promoted else ''}{mark}"
        token = CELLS[origin] + square + (promoted or "").lower()
        self.moves.append(Move(token, text))
        self.turns.append(turn(state))
        return True

    def _legal(self, origins: np.uint64, move_bits: int, is_king: bool) -> dict[int, State | None]:
        """The origins from which a move leaves the king of its player safe, with the states after
        it where that had to be tried.
        """
        state = self._state
        legal: dict[int, State | None] = {}
        king = int(state[KINGS] & state[OWN]).bit_length() - 1
        # A piece that is not in line with its king is not pinned.
        pinning = ALL_SQUARES if is_king or self._is_check else KING_LINES[king]
        while origins:
            origin = int(origins).bit_length() - 1
            bit = BITS[origin]
            origins ^= bit
            after = None
            if pinning & bit:
                after = play(state, origin | move_bits)
                # The position after the move, as if the same side were to move.
                if in_check((after[THEIRS], after[OWN], *after[PAWNS:MISC], state[MISC], ZERO)):
                    continue
            legal[origin] = after
        return legal

    def _castle(self, word: str) -> bool:
        text = word.rstrip("+#")
        if text not in ("O-O", "O-O-O"):
            return False
        state = self._state
        with RulesCall("chess", "play"):
            origin = 60 if turn(state) else 4
            target = origin + 2 if text == "O-O" else origin - 2
            move, buffer = origin | target << 6, [0] * MAX_MOVES
            if not state[KINGS] & state[OWN] & BITS[origin] or self._is_drawn():
                return False
            if move not in buffer[: moves(state, buffer)]:
                return False
            self._advance(play(state, move), (state, move))
            mark = self._mark()
        self.moves.append(Move(CELLS[origin] + CELLS[target], text + mark))
        self.turns.append(turn(state))
        return True

    def _is_drawn(self) -> bool:
        """Whether the match is drawn here by a rule."""
        return bool(drawn(self._state)) or (
            self._past.count(self._key) + 1 >= self.start.game.rules.REPETITION
        )

    def _mark(self) -> str:
        """The sign of check or mate behind the move that led here."""
        if not self._is_check:
            return ""
        return "+" if count_moves(self._state) else "#"

    def _place(self, position: Position) -> None:
        assert position.last is not None, "a move leads here"
        self._advance(position.state, position.last)

    def _parts(self, word: str) -> list[str]:
        return []

    def _advance(self, state: State, last: tuple[State, int]) -> None:
        if back := int(reversible(state)):
            self._past.append(self._key)
            del self._past[:-back]
        else:
            self._past.clear()
        self._key = int(repetition(state))
        self._state, self._last = state, last
        self._is_check = in_check(state)


def _named(origin: int, legal: Iterable[int]) -> str:
    """What names a piece where others of its kind may go there too: its file, else its rank, else
    both (PGN standard, 8.2.3.4).
    """
    rivals = [CELLS[each] for each in legal if each != origin]
    cell = CELLS[origin]
    if not rivals:
        return ""
    if all(rival[0] != cell[0] for rival in rivals):
        return cell[0]
    return cell[1] if all(rival[1] != cell[1] for rival in rivals) else cell


def _attackers(s: State, letter: str, target: int) -> np.uint64:
    """The own pieces of a kind that attack a square."""
    own = s[OWN]
    if letter == "N":
        return U(KNIGHT_ATTACKS[target]) & s[KNIGHTS] & own
    if letter == "K":
        return U(KING_ATTACKS[target]) & s[KINGS] & own
    occupied = own | s[THEIRS]
    if letter == "B":
        pieces = s[DIAGONALS] & ~s[STRAIGHTS] & own
        return diagonal_attacks(target, occupied) & pieces if pieces else ZERO
    if letter == "R":
        pieces = s[STRAIGHTS] & ~s[DIAGONALS] & own
        return straight_attacks(target, occupied) & pieces if pieces else ZERO
    pieces = s[STRAIGHTS] & s[DIAGONALS] & own
    if not pieces:
        return ZERO
    return (diagonal_attacks(target, occupied) | straight_attacks(target, occupied)) & pieces


def _pawns(s: State, file: str, target: int) -> np.uint64:
    """The own pawn that steps to a square, or captures there from a file; not en passant."""
    pawns = s[PAWNS] & s[OWN]
    step = -8 if turn(s) == 0 else 8
    if file:
        origin = target + step + "abcdefgh".index(file) - (target & 7)
        is_beside = abs("abcdefgh".index(file) - (target & 7)) == 1
        if not is_beside or not 0 <= origin < 64 or not s[THEIRS] & BITS[target]:
            return ZERO
        return pawns & BITS[origin]
    occupied = s[OWN] | s[THEIRS]
    origin = target + step
    if occupied & BITS[target] or not 0 <= origin < 64:
        return ZERO
    if pawns & BITS[origin]:
        return BITS[origin]
    if target >> 3 == (3 if step < 0 else 4) and not occupied & BITS[origin]:
        return pawns & BITS[origin + step]
    return ZERO


def reader_of(start: Position) -> MoveReader:
    """Returns the reader of a game's moves, the fastest for its rules."""
    return SanReader(start) if start.game.id == "chess" else MoveReader(start)
