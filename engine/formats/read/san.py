"""Standard algebraic notation, read without a list of all legal moves. Pure.

Most moves of a file are written exactly as the standard says. For them this reader asks which
pieces of the kind attack the target and plays the one that leaves its king safe; it uses the rules'
own attacks and `play`. Whatever else stands there goes to the reader of typed moves.
"""

import re

import numpy as np

from engine.formats.read.moves import MAX_PLIES, MoveReader
from engine.formats.record import Move
from engine.game import Position, State
from engine.games.chess_parts.board import (
    DIAGONALS,
    KING_ATTACKS,
    KINGS,
    KNIGHT_ATTACKS,
    KNIGHTS,
    MISC,
    ONE,
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
from engine.games.chess_parts.movement import MAX_MOVES, moves, play
from engine.jit import U
from engine.rules.call import RulesCall

#: A move in the standard's own form, but for castling.
SAN = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)(x?)([a-h][1-8])(?:=([QRBN]))?[+#]?")
SQUARES = {name: square for square, name in enumerate(CELLS)}
BITS = tuple(U(1 << square) for square in range(64))
FILES = {name: U(0x0101010101010101 << i) for i, name in enumerate("abcdefgh")}
RANKS = {name: U(0xFF << 8 * i) for i, name in enumerate("12345678")}
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
            if letter:
                all_origins = origins = _attackers(state, letter, target)
                if file:
                    origins &= FILES[file]
                if rank:
                    origins &= RANKS[rank]
            else:
                all_origins = origins = _pawns(state, file, target)
            found: tuple[int, State] | None = None
            while origins:
                origin = int(origins).bit_length() - 1
                origins ^= BITS[origin]
                move = origin | target << 6 | PROMOTIONS[promoted] << 12
                after = play(state, move)
                # The position after the move, as if the same side were to move: is its king safe?
                if in_check((after[THEIRS], after[OWN], *after[PAWNS:MISC], state[MISC], ZERO)):
                    continue
                if found is not None:
                    return False  # ambiguous
                found = move, after
            if found is None:
                return False
            move, after = found
            self._advance(after, (state, move))
            is_alone = not letter or all_origins & (all_origins - ONE) == ZERO
        token = CELLS[move & 63] + square + (promoted or "").lower()
        if is_alone:
            takes = "x" if (letter and state[THEIRS] & bit) or (not letter and file) else ""
            text = f"{letter or file}{takes}{square}{'=' + promoted if promoted else ''}"
        else:
            text = Position(self.start.game, self.start.options, state).notation(move).rstrip("+#")
        self.moves.append(Move(token, text))
        self.turns.append(turn(state))
        return True

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
        self.moves.append(Move(CELLS[origin] + CELLS[target], text))
        self.turns.append(turn(state))
        return True

    def _is_drawn(self) -> bool:
        """Whether the match is drawn here by a rule."""
        return bool(drawn(self._state)) or (
            self._past.count(self._key) + 1 >= self.start.game.rules.REPETITION
        )

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
