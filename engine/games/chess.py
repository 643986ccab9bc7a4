"""Chess, complete: castling, en passant, promotion, and the draws by material, by repetition and by counting moves.

Squares are bits, a1 = 0, b1 = 1, … h8 = 63. Legal moves are made directly: first the squares that answer a check and
the pieces that are pinned to the king, then only moves that respect both. Hash and piece-square score are kept up to
date by `play`, so that the search does not add them up at every node.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, GOES_ON, LOST, Option, State
from engine.jit import U, lsb, msb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView, Sprite

NAME = "chess"
TITLE = "Chess"
WORDS = 10
MAX_MOVES = 323  # nobody can have more: nine queens 27 each, rooks 14, bishops 13, knights 8, king 8, castling 2
LEVELS = 8
OPTIONS: Mapping[str, Option] = {}
DATA = ()
REPETITION = 5
CLAIM_REPETITION = 3
RULES = """White begins, then the players move in turn, one piece to a square that is empty or held by an enemy piece, \
which is captured and leaves the board.

Rook: any distance along a row or column. Bishop: any distance along a diagonal. Queen: like rook or bishop. None of \
them passes over another piece. Knight: two squares straight and one aside, over whatever stands between. King: one \
square in any direction. Pawn: one square straight ahead, from its first square also two, if they are empty; it \
captures one square diagonally ahead and in no other way.

Check: a king that could be captured by the next move is in check. No move may leave one's own king in check, so a \
check must be answered: move the king, capture the piece that gives check, or put a piece between.

Castling: a king that has not moved goes two squares towards a rook that has not moved, and the rook jumps to the \
square that the king passed. All squares between them must be empty, and the king may not be in check, nor pass or \
reach a square that the enemy attacks. Move the king by two squares to castle.

En passant: when a pawn goes two squares and lands beside an enemy pawn, that pawn may capture it as if it had gone \
one square only; but only with the very next move.

Promotion: a pawn that reaches the last row becomes a queen, rook, bishop or knight of its colour, whichever its \
player chooses.

The end: whoever is in check and has no legal move is checkmated and loses. Whoever is not in check and has no legal \
move is stalemated: a draw. The match is also a draw when neither side has the pieces to mate (king against king, \
perhaps with one knight, or with bishops that all stand on one colour), when a position comes for the fifth time, and \
when each player has made 75 moves in a row without a capture or a pawn move (unless the last one mates). A player to \
move may claim a draw when the position is there for the third time, or after 50 such moves of each. Positions are \
the same when the same side is to move and the same moves are possible, castling and en passant included."""

# --- the state: bitboards of the side to move, of the other side, and of each kind of both; a queen is in two of them

OWN, THEIRS, PAWNS, KNIGHTS, DIAGONALS, STRAIGHTS, KINGS, MISC, HASH, SCORE = range(10)
"""MISC: castling rights, en passant square (only while such a capture is legal), side to move, halfmove clock, number
of the move. HASH is over all but the last two. SCORE is the sum of SCORES of the pieces."""

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
ZERO, ONE, TWO, EIGHT = U(0), U(1), U(2), U(8)
FULL, LAST = U(2**64 - 1), U(1 << 63)
FILE_A, FILE_H = U(0x0101010101010101), U(0x8080808080808080)
RANK_3, RANK_6 = U(0xFF << 16), U(0xFF << 40)
LAST_RANKS = U(0xFF | 0xFF << 56)
DARK = U(0xAA55AA55AA55AA55)

RIGHTS = U(15)  # 1 white king's side, 2 white queen's side, 4 and 8 black's
PASSED = U(63 << 4)  # the square that a pawn has just passed; 0: none
PASSED_SHIFT = U(4)
BLACK = U(1 << 10)
SIDE_SHIFT = U(10)
CLOCK, CLOCK_ONE = U(0xFFFF << 16), U(1 << 16)
NUMBER, NUMBER_ONE, NUMBER_SHIFT = U(0xFFFFFFFF << 32), U(1 << 32), U(32)
CLAIM_PLIES, LIMIT_PLIES = 100, 150
LIMIT = U(LIMIT_PLIES << 16)
NEAR_LIMIT = U(LIMIT_PLIES - 40 << 16)
"""From here on the halfmove clock makes a difference for the search, and belongs into its key."""
GOLDEN = U(0x9E3779B97F4A7C15)


def _on_board(file: int, rank: int) -> bool:
    return 0 <= file < 8 and 0 <= rank < 8


def _steps(*ways: tuple[int, int]) -> list[int]:
    """For each square the squares that are one of these steps away."""
    return [
        sum(1 << (y + dy) * 8 + x + dx for dx, dy in ways if _on_board(x + dx, y + dy))
        for y in range(8)
        for x in range(8)
    ]


def _line(dx: int, dy: int) -> list[int]:
    """For each square the others on the line through it in a direction."""
    return _steps(*((dx * i, dy * i) for i in range(-7, 8) if i))


def _random_words(count: int) -> Iterator[int]:
    """Fixed numbers that look random (splitmix64)."""
    for i in range(1, count + 1):
        word = i * 0x9E3779B97F4A7C15 % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        yield word ^ word >> 31


def _words(values: Any) -> Any:
    return np.array([value % 2**64 for value in values], np.uint64)


KNIGHT_STEPS = _words(_steps((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)))
KING_STEPS = _words(_steps((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)))
PAWN_STEPS = _words(_steps((-1, 1), (1, 1)) + _steps((-1, -1), (1, -1)))
"""What a white pawn attacks from each square, then what a black one does."""
LINES = _words(_line(1, 0) + _line(0, 1) + _line(1, 1) + _line(1, -1))
"""Row, column, diagonal and antidiagonal through each square, without the square itself."""
FILES_OF, NINES_OF, SEVENS_OF = 64, 128, 192  # where in LINES; named by what a step along the line adds to a square

RIGHTS_OF, PASSED_OF, BLACK_OF = 768, 784, 848
HASHES = _words(0 if i == PASSED_OF else word for i, word in enumerate(_random_words(BLACK_OF + 1)))
"""By side * 384 + kind * 64 + square; then by castling rights, by en passant square, and for Black to move."""
BLACK_HASH = HASHES[BLACK_OF]
KEPT = _words(15 & ~{0: 2, 4: 3, 7: 1, 56: 8, 60: 12, 63: 4}.get(square, 0) for square in range(64))
"""The castling rights that a move from or to a square leaves."""


# --- attacks


@rule
def side_of(s: State) -> int:
    return int(np.int64((s[MISC] >> SIDE_SHIFT) & ONE))


@rule
def lowest(bits: np.uint64) -> np.uint64:
    """The lowest bit of some."""
    return bits & ~(bits - ONE)


@rule
def line_attacks(line: np.uint64, bit: np.uint64, occupied: np.uint64) -> np.uint64:
    """What a slider on that bit attacks on a line: up to and with the first piece each way."""
    below = line & occupied & (bit - ONE)
    above = (line & occupied ^ below) | LAST
    return line & (above ^ (above - ONE)) & (FULL << U(msb(below | ONE)))


@rule
def diagonal_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[NINES_OF + square], bit, occupied) | line_attacks(
        LINES[SEVENS_OF + square], bit, occupied
    )


@rule
def straight_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[square], bit, occupied) | line_attacks(LINES[FILES_OF + square], bit, occupied)


@rule
def is_attacked(s: State, square: int, occupied: np.uint64, attackers: np.uint64) -> bool:
    """Do these pieces of the other side attack the square, when the board is occupied so?"""
    leapers = KNIGHT_STEPS[square] & s[KNIGHTS]
    leapers |= KING_STEPS[square] & s[KINGS]
    leapers |= PAWN_STEPS[side_of(s) * 64 + square] & s[PAWNS]
    if leapers & attackers:
        return True
    sliders = s[STRAIGHTS] & attackers
    if (LINES[square] | LINES[FILES_OF + square]) & sliders and straight_attacks(square, occupied) & sliders:
        return True
    sliders = s[DIAGONALS] & attackers
    return bool(
        (LINES[NINES_OF + square] | LINES[SEVENS_OF + square]) & sliders
        and diagonal_attacks(square, occupied) & sliders
    )


@rule
def in_check(s: State) -> bool:
    return is_attacked(s, lsb(s[KINGS] & s[OWN]), s[OWN] | s[THEIRS], s[THEIRS])


NO_MOVES: Any = np.int64(0)
"""A typed 0: compiled, a rule would be there once more for a literal one."""

# --- moves: origin | target << 6 | kind of the new piece << 12 (0: no promotion)


@rule
def answers_and_pins(s: State) -> tuple[np.uint64, np.uint64]:
    """Where a move of any piece but the king must end because of a check (anywhere without one, nowhere in double
    check); and the own pieces that stand alone between the king and a slider.
    """
    king = s[KINGS] & s[OWN]
    square = lsb(king)
    occupied = s[OWN] | s[THEIRS]
    checkers = (KNIGHT_STEPS[square] & s[KNIGHTS] | PAWN_STEPS[side_of(s) * 64 + square] & s[PAWNS]) & s[THEIRS]
    answers = checkers
    pinned = ZERO
    for i in range(4):
        line = LINES[i * 64 + square]
        sliders = line & s[THEIRS] & (s[STRAIGHTS] if i < 2 else s[DIAGONALS])
        while sliders:
            slider = lowest(sliders)
            sliders ^= slider
            between = line & (slider - king - king if slider > king else king - slider - slider)
            blockers = between & occupied
            if blockers == ZERO:
                checkers |= slider
                answers |= slider | between
            elif blockers & (blockers - ONE) == ZERO:
                pinned |= blockers & s[OWN]
    if checkers == ZERO:
        return FULL, pinned
    if checkers & (checkers - ONE):
        return ZERO, pinned
    return answers, pinned


@rule
def pin_line(king_square: int, bit: np.uint64) -> np.uint64:
    """The line through the king and a pinned piece."""
    for i in range(4):
        if LINES[i * 64 + king_square] & bit:
            return U(LINES[i * 64 + king_square])
    return ZERO


@rule
def king_targets(s: State, answers: np.uint64, wanted: np.uint64) -> np.uint64:
    """Which of the wanted squares the king may go to, two squares away when castling."""
    king = s[KINGS] & s[OWN]
    occupied = s[OWN] | s[THEIRS]
    castling = ZERO
    rights = s[MISC] & (U(12) if s[MISC] & BLACK else U(3))
    if rights and answers == FULL:
        if rights & U(5) and not occupied & (king << ONE | king << TWO):
            castling = king << TWO
        if rights & U(10) and not occupied & (king >> ONE | king >> TWO | king >> U(3)):
            castling |= king >> TWO
    left = (KING_STEPS[lsb(king)] | castling) & wanted
    safe = ZERO
    while left:
        target = lowest(left)
        left ^= target
        if not is_attacked(s, lsb(target), occupied ^ king, s[THEIRS]):
            safe |= target
    if castling:  # the square that the king passes must be safe as well
        if not safe & (king << ONE):
            safe &= ~(king << TWO)
        if not safe & (king >> ONE):
            safe &= ~(king >> TWO)
    return safe


@rule
def pawn_targets(s: State, pinned: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Where pawns may go, by a step, a double step, and captures 7 and 9 squares on (for Black: back)."""
    square = lsb(s[KINGS] & s[OWN])
    pawns = s[PAWNS] & s[OWN]
    empty = ~(s[OWN] | s[THEIRS])
    pushers = pawns & (~pinned | LINES[FILES_OF + square])
    sevens = pawns & (~pinned | LINES[SEVENS_OF + square])
    nines = pawns & (~pinned | LINES[NINES_OF + square])
    if s[MISC] & BLACK:
        pushes = (pushers >> EIGHT) & empty
        doubles = ((pushes & RANK_6) >> EIGHT) & empty
        sevens = ((sevens & ~FILE_H) >> U(7)) & s[THEIRS]
        nines = ((nines & ~FILE_A) >> U(9)) & s[THEIRS]
    else:
        pushes = (pushers << EIGHT) & empty
        doubles = ((pushes & RANK_3) << EIGHT) & empty
        sevens = ((sevens & ~FILE_A) << U(7)) & s[THEIRS]
        nines = ((nines & ~FILE_H) << U(9)) & s[THEIRS]
    return pushes, doubles, sevens, nines


@rule
def passed_square(s: State) -> int:
    """The square where an en passant capture would end; 0 for none."""
    return int(np.int64((s[MISC] & PASSED) >> PASSED_SHIFT))


@rule
def en_passant_origins(s: State) -> np.uint64:
    """The pawns that may capture en passant: found by doing it, since two pawns leave the row of the king at once."""
    side = side_of(s)
    target = passed_square(s)
    king_square = lsb(s[KINGS] & s[OWN])
    captured = ONE << U(target - 8 + 16 * side)
    without = (s[OWN] | s[THEIRS] | ONE << U(target)) ^ captured
    pawns = PAWN_STEPS[(1 - side) * 64 + target] & s[PAWNS] & s[OWN]
    legal = ZERO
    while pawns:
        pawn = lowest(pawns)
        pawns ^= pawn
        if not is_attacked(s, king_square, without ^ pawn, s[THEIRS] ^ captured):
            legal |= pawn
    return legal


@rule
def count(s: State, buf: Any) -> int:
    return count_moves(s)


@rule
def count_moves(s: State) -> int:
    """The number of legal moves, from the sizes of their sets of targets."""
    answers, pinned = answers_and_pins(s)
    n = popcount(king_targets(s, answers, ~s[OWN]))
    if answers == ZERO:
        return n
    pushes, doubles, sevens, nines = pawn_targets(s, pinned)
    pushes &= answers
    sevens &= answers
    nines &= answers
    n += popcount(pushes) + popcount(doubles & answers) + popcount(sevens) + popcount(nines)
    if (pushes | sevens | nines) & LAST_RANKS:
        n += 3 * (popcount(pushes & LAST_RANKS) + popcount(sevens & LAST_RANKS) + popcount(nines & LAST_RANKS))
    if s[MISC] & PASSED:
        n += popcount(en_passant_origins(s))
    return n + count_officers(s, pinned, answers & ~s[OWN])


@rule
def count_officers(s: State, pinned: np.uint64, wanted: np.uint64) -> int:
    """The number of moves of knights, bishops, rooks and queens to wanted squares."""
    occupied = s[OWN] | s[THEIRS]
    king_square = lsb(s[KINGS] & s[OWN])
    n = 0
    pieces = s[KNIGHTS] & s[OWN] & ~pinned
    while pieces:
        n += popcount(KNIGHT_STEPS[lsb(pieces)] & wanted)
        pieces &= pieces - ONE
    pieces = s[DIAGONALS] & s[OWN]
    while pieces:
        targets = diagonal_attacks(lsb(pieces), occupied) & wanted
        if lowest(pieces) & pinned:
            targets &= pin_line(king_square, lowest(pieces))
        n += popcount(targets)
        pieces &= pieces - ONE
    pieces = s[STRAIGHTS] & s[OWN]
    while pieces:
        targets = straight_attacks(lsb(pieces), occupied) & wanted
        if lowest(pieces) & pinned:
            targets &= pin_line(king_square, lowest(pieces))
        n += popcount(targets)
        pieces &= pieces - ONE
    return n


@rule
def moves(s: State, buf: Any) -> int:
    """Captures and promotions come first."""
    answers, pinned = answers_and_pins(s)
    n = write_moves(s, buf, NO_MOVES, answers, pinned, s[THEIRS])
    return write_moves(s, buf, n, answers, pinned, ~(s[OWN] | s[THEIRS]))


@rule
def write_moves(s: State, buf: Any, n: int, answers: np.uint64, pinned: np.uint64, wanted: np.uint64) -> int:
    """Adds either the captures, promotions included (wanted: the enemy's pieces), or the other moves (wanted: the
    empty squares) to the n moves in buf.
    """
    if answers:
        ahead = 8 - 16 * side_of(s)
        pushes, doubles, sevens, nines = pawn_targets(s, pinned)
        if wanted & s[THEIRS]:
            n = write_pawns(buf, n, pushes & answers & LAST_RANKS, ahead)
            n = write_pawns(buf, n, sevens & answers, 7 if ahead > 0 else -7)
            n = write_pawns(buf, n, nines & answers, 9 if ahead > 0 else -9)
            if s[MISC] & PASSED:
                passed = passed_square(s)
                origins = en_passant_origins(s)
                while origins:
                    buf[n] = lsb(origins) | passed << 6
                    n += 1
                    origins &= origins - ONE
        else:
            n = write_pawns(buf, n, pushes & answers & ~LAST_RANKS, ahead)
            n = write_pawns(buf, n, doubles & answers, 2 * ahead)
        n = write_officers(s, buf, n, pinned, answers & wanted)
    return write_from(buf, n, lsb(s[KINGS] & s[OWN]), king_targets(s, answers, wanted))


@rule
def write_officers(s: State, buf: Any, n: int, pinned: np.uint64, wanted: np.uint64) -> int:
    """The moves of knights, bishops, rooks and queens to wanted squares."""
    occupied = s[OWN] | s[THEIRS]
    king_square = lsb(s[KINGS] & s[OWN])
    pieces = (s[KNIGHTS] & ~pinned | s[DIAGONALS] | s[STRAIGHTS]) & s[OWN]
    while pieces:
        piece = lowest(pieces)
        pieces ^= piece
        square = lsb(piece)
        targets = ZERO
        if piece & s[KNIGHTS]:
            targets = KNIGHT_STEPS[square]
        if piece & s[DIAGONALS]:
            targets |= diagonal_attacks(square, occupied)
        if piece & s[STRAIGHTS]:
            targets |= straight_attacks(square, occupied)
        targets &= wanted
        if piece & pinned:
            targets &= pin_line(king_square, piece)
        n = write_from(buf, n, square, targets)
    return n


@rule
def write_from(buf: Any, n: int, origin: int, targets: np.uint64) -> int:
    while targets:
        buf[n] = origin | lsb(targets) << 6
        n += 1
        targets &= targets - ONE
    return n


@rule
def write_pawns(buf: Any, n: int, targets: np.uint64, way: int) -> int:
    """Moves of pawns from so far behind; to a last row four promotions each, the queen first."""
    while targets:
        m = lsb(targets) * 65 - way
        kind = QUEEN if lowest(targets) & LAST_RANKS else PAWN
        buf[n] = m | kind << 12
        n += 1
        while kind > KNIGHT:
            kind -= 1
            buf[n] = m | kind << 12
            n += 1
        targets &= targets - ONE
    return n


@rule
def kind_at(s: State, bit: np.uint64) -> int:
    """The kind of the piece there; there is one."""
    if bit & s[PAWNS]:
        return PAWN
    if bit & s[KNIGHTS]:
        return KNIGHT
    if bit & s[DIAGONALS]:
        return QUEEN if bit & s[STRAIGHTS] else BISHOP
    return ROOK if bit & s[STRAIGHTS] else KING


@rule
def play(s: State, m: int) -> State:
    own, theirs, pawns, knights, diagonals, straights, kings, misc, hashed, score = s
    origin = m & 63
    target = (m >> 6) & 63
    side = side_of(s)
    to_bit = ONE << U(target)
    kept = ~(ONE << U(origin) | to_bit)
    kind = kind_at(s, ~kept ^ to_bit)
    # 1. What is captured leaves the board; en passant it stands beside the origin.
    captured = to_bit
    if kind == PAWN and target == passed_square(s) and target != 0:
        captured = ONE << U(target - 8 + 16 * side)
        kept ^= captured
    is_capture = theirs & captured != ZERO
    if is_capture:
        taken = (1 - side) * 384 + kind_at(s, captured) * 64 + lsb(captured)
        hashed ^= HASHES[taken]
        score -= SCORES[taken]
    # 2. The piece leaves its square and comes to the other, perhaps as another one.
    placed = m >> 12 if m >> 12 else kind
    lifted, landed = side * 384 + kind * 64 + origin, side * 384 + placed * 64 + target
    hashed ^= HASHES[lifted] ^ HASHES[landed]
    score += SCORES[landed] - SCORES[lifted]
    own = own & kept | to_bit
    theirs &= kept
    pawns = pawns & kept | (to_bit if placed == PAWN else ZERO)
    knights = knights & kept | (to_bit if placed == KNIGHT else ZERO)
    diagonals = diagonals & kept | (to_bit if placed in (BISHOP, QUEEN) else ZERO)
    straights = straights & kept | (to_bit if placed in (ROOK, QUEEN) else ZERO)
    kings = kings & kept | (to_bit if placed == KING else ZERO)
    # 3. Castling: the rook jumps over the king.
    if kind == KING and (target - origin == 2 or origin - target == 2):
        corner = origin + 3 if target > origin else origin - 4
        beside = (origin + target) >> 1
        jump = ONE << U(corner) | ONE << U(beside)
        own ^= jump
        straights ^= jump
        corner += side * 384 + ROOK * 64
        beside += side * 384 + ROOK * 64
        hashed ^= HASHES[corner] ^ HASHES[beside]
        score += SCORES[beside] - SCORES[corner]
    # 4. Rights, clock and number. A pawn's double step is noted only where it can be answered en passant.
    rights = misc & RIGHTS & KEPT[origin] & KEPT[target]
    clock = ZERO if kind == PAWN or is_capture else (misc & CLOCK) + CLOCK_ONE
    number = (misc & NUMBER) + (NUMBER_ONE if side == 1 else ZERO)
    hashed ^= HASHES[RIGHTS_OF + np.int64(misc & RIGHTS)] ^ HASHES[RIGHTS_OF + np.int64(rights)]
    hashed ^= HASHES[PASSED_OF + passed_square(s)] ^ BLACK_HASH
    misc = rights | clock | number | (~misc & BLACK)
    if kind == PAWN and origin ^ target == 16:
        passed = (origin + target) >> 1
        if PAWN_STEPS[side * 64 + passed] & pawns & theirs:
            noted = misc | U(passed) << PASSED_SHIFT
            after = (theirs, own, pawns, knights, diagonals, straights, kings, noted, hashed, score)
            if en_passant_origins(after):
                misc = noted
                hashed ^= HASHES[PASSED_OF + passed]
    return (theirs, own, pawns, knights, diagonals, straights, kings, misc, hashed, score)


# --- how a match ends


@rule
def status(s: State) -> int:
    """Mate and stalemate are found when there is no move: see `stuck`."""
    return GOES_ON


@rule
def stuck(s: State) -> int:
    return LOST if in_check(s) else DRAWN


@rule
def cannot_mate(s: State) -> bool:
    """Dead by material: bare kings, one knight, or bishops that all stand on one colour."""
    if s[PAWNS] | s[STRAIGHTS]:
        return False
    if s[KNIGHTS]:
        return s[DIAGONALS] == ZERO and popcount(s[KNIGHTS]) == 1
    return bool(s[DIAGONALS] & DARK == ZERO or s[DIAGONALS] & ~DARK == ZERO)


@rule
def drawn(s: State) -> int:
    """By material, or by seventy-five moves of each without capture or pawn move; but mate goes first."""
    if cannot_mate(s):
        return 1
    return 1 if s[MISC] & CLOCK >= LIMIT and (not in_check(s) or count_moves(s) > 0) else 0


@rule
def reversible(s: State) -> int:
    return int(np.int64((s[MISC] & CLOCK) >> U(16)))


@rule
def repetition(s: State) -> np.uint64:
    return s[HASH]


@rule
def key(s: State) -> np.uint64:
    found = s[HASH]
    if s[MISC] & CLOCK >= NEAR_LIMIT:
        found ^= (s[MISC] & CLOCK) * GOLDEN
    return found if found else ONE


def claim(s: State) -> str | None:
    return "fifty moves without a capture or a pawn move" if reversible(s) >= CLAIM_PLIES else None


# --- evaluation: material, piece-square scores, and a few terms, for the middle game and for the endgame

SCORE_SHIFT, LOW_HALF = U(32), U(2**32 - 1)
SCORE_BIAS = 1 << 20
"""Keeps both halves of SCORE positive: the middle game's in the high half, the endgame's in the low one."""
FULL_PHASE = 22
"""What the pieces weigh at the start, knights and bishops 1, rooks 2, queens 3: then the middle game alone counts."""


def _pawn_scores(file: int, rank: int) -> tuple[int, int]:
    centre = (0, 2, 6, 12)[min(file, 7 - file)] if 2 <= rank <= 4 else 0
    return 85 + (0, 0, 4, 8, 18, 35, 60, 0)[rank] + centre, 100 + (0, 0, 4, 12, 28, 55, 95, 0)[rank]


def _officer_scores(kind: int, file: int, rank: int) -> tuple[int, int]:
    """Pieces like the centre, each in its own measure; rooks like the seventh row."""
    middle = min(file, 7 - file) + min(rank, 7 - rank)
    if kind == KNIGHT:
        return 300 + 9 * middle + (8 if 3 <= rank <= 5 else 0), 270 + 7 * middle
    if kind == BISHOP:
        return 318 + 5 * middle - (8 if rank == 0 else 0), 300 + 3 * middle
    if kind == ROOK:
        seventh = 18 if rank == 6 else 0
        return 470 + 4 * min(file, 7 - file) + seventh, 520 + seventh
    return 965 + 2 * middle - (6 if 2 <= rank <= 3 else 0), 930 + 6 * middle


def _king_scores(file: int, rank: int) -> tuple[int, int]:
    """In the middle game a castled king on its first row, in the endgame the centre."""
    sheltered = (18, 28, 8, -8, 0, -6, 30, 20)[file] if rank == 0 else -12 - 14 * min(rank, 4)
    return sheltered, 10 * (min(file, 7 - file) + min(rank, 7 - rank)) - 30


def _square_scores() -> Iterator[int]:
    for side in range(2):
        for kind in range(6):
            for square in range(64):
                file, rank = square % 8, square // 8 if side == 0 else 7 - square // 8
                if kind == PAWN:
                    mid, end = _pawn_scores(file, rank)
                else:
                    mid, end = _king_scores(file, rank) if kind == KING else _officer_scores(kind, file, rank)
                yield ((mid << 32) + end) * (1 - 2 * side)


SCORES = _words(_square_scores())
"""By side * 384 + kind * 64 + square, Black's with a minus: a score for the middle game << 32, one for the endgame."""

PAIR = 28 << 16 | 42
TEMPO = 12
ROOK_ON_OPEN_FILE = 16 << 16 | 8
SHIELD = 7 << 16
DOUBLED, ISOLATED = 6 << 16 | 16, 10 << 16 | 8
PASSED_PAWN, PASSED_STEP = 2 << 16 | 8, 4 << 16 | 10


@rule
def fill(pawns: np.uint64, up: bool) -> np.uint64:
    """These squares and all ahead of them."""
    if up:
        pawns |= pawns << EIGHT
        pawns |= pawns << U(16)
        return pawns | pawns << U(32)
    pawns |= pawns >> EIGHT
    pawns |= pawns >> U(16)
    return pawns | pawns >> U(32)


@rule
def beside(squares: np.uint64) -> np.uint64:
    """The squares to the left and right of these."""
    return (squares & ~FILE_A) >> ONE | (squares & ~FILE_H) << ONE


@rule
def pawn_terms(mine: np.uint64, other: np.uint64, up: bool) -> int:
    """For passed pawns, more the further they are; against doubled and isolated ones."""
    ahead = fill(mine << EIGHT if up else mine >> EIGHT, up)
    files = fill(mine, up) | fill(mine, not up)
    total = -DOUBLED * popcount(mine & ahead) - ISOLATED * popcount(mine & ~beside(files))
    control = fill(other, not up)
    passed = mine & ~(control | beside(control))
    while passed:
        rank = lsb(passed) >> 3 if up else 7 - (lsb(passed) >> 3)
        total += PASSED_PAWN + PASSED_STEP * max(rank - 2, 0)
        passed &= passed - ONE
    return total


@rule
def mobility(s: State, mine: np.uint64, safe: np.uint64) -> int:
    """The reach of knights, bishops and rooks over squares that no enemy pawn guards."""
    occupied = s[OWN] | s[THEIRS]
    n = 0
    pieces = s[KNIGHTS] & mine
    while pieces:
        n += popcount(KNIGHT_STEPS[lsb(pieces)] & safe) - 4
        pieces &= pieces - ONE
    pieces = s[DIAGONALS] & mine & ~s[STRAIGHTS]
    while pieces:
        n += popcount(diagonal_attacks(lsb(pieces), occupied) & safe) - 5
        pieces &= pieces - ONE
    n *= 3
    pieces = s[STRAIGHTS] & mine & ~s[DIAGONALS]
    while pieces:
        n += 2 * popcount(straight_attacks(lsb(pieces), occupied) & safe) - 12
        pieces &= pieces - ONE
    return n * (1 << 16 | 1)


@rule
def side_terms(s: State, mine: np.uint64, other: np.uint64, up: bool) -> int:
    """What one side has besides its pieces on their squares: the middle game's score << 16, plus the endgame's."""
    pawns = s[PAWNS] & mine
    enemies = s[PAWNS] & other
    guarded = beside(enemies >> EIGHT if up else enemies << EIGHT)
    total = pawn_terms(pawns, enemies, up) + mobility(s, mine, ~mine & ~guarded)
    bishops = s[DIAGONALS] & ~s[STRAIGHTS] & mine
    if bishops & DARK and bishops & ~DARK:
        total += PAIR
    rooks = s[STRAIGHTS] & ~s[DIAGONALS] & mine
    total += ROOK_ON_OPEN_FILE * popcount(rooks & ~(fill(pawns, up) | fill(pawns, not up)))
    return total + SHIELD * popcount(KING_STEPS[lsb(s[KINGS] & mine)] & pawns)


@rule
def evaluate(s: State, data: Any) -> int:
    is_white = side_of(s) == 0
    terms = 0
    for i in range(2):  # the other side first, which is then taken away
        mine = s[OWN] if i else s[THEIRS]
        terms = side_terms(s, mine, mine ^ s[OWN] ^ s[THEIRS], is_white == (i == 1)) - terms
    end_terms = ((terms + 32768) & 65535) - 32768
    mid = np.int64(s[SCORE] >> SCORE_SHIFT) - SCORE_BIAS
    end = np.int64(s[SCORE] & LOW_HALF) - SCORE_BIAS
    if not is_white:
        mid = -mid
        end = -end
    mid += (terms - end_terms) >> 16
    end += end_terms
    phase = min(popcount(s[KNIGHTS]) + popcount(s[DIAGONALS]) + 2 * popcount(s[STRAIGHTS]), FULL_PHASE)
    return int((mid * phase + end * (FULL_PHASE - phase)) // FULL_PHASE) + TEMPO


# --- positions as text: FEN

CELLS = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")
LETTERS = "PNBRQKpnbrqk"
"""By side * 6 + kind."""
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
HIGHEST_NUMBER = 999_999


def init(options: Mapping[str, str]) -> State:
    return parse_position(START, options)


def turn(s: State) -> int:
    return int(s[MISC]) >> 10 & 1


def _men(s: State) -> dict[int, int]:
    """Side * 6 + kind of the piece on each square that has one."""
    own, theirs, pawns, knights, diagonals, straights = map(int, s[:KINGS])
    black = own if turn(s) else theirs
    men = {}
    left = own | theirs
    while left:
        bit = left & -left
        left ^= bit
        if bit & pawns:
            kind = PAWN
        elif bit & knights:
            kind = KNIGHT
        elif bit & diagonals:
            kind = QUEEN if bit & straights else BISHOP
        else:
            kind = ROOK if bit & straights else KING
        men[bit.bit_length() - 1] = kind + 6 if bit & black else kind
    return men


def _state(men: Mapping[int, int], side: int, rights: int, passed: int, clock: int, number: int) -> State:
    """The state with these pieces; an en passant square is noted if such a capture is legal."""
    bits = [0] * 12
    hashed = int(HASHES[RIGHTS_OF + rights]) ^ (int(BLACK_HASH) if side else 0)
    score = (SCORE_BIAS << 32) + SCORE_BIAS
    for square, man in men.items():
        bits[man] |= 1 << square
        hashed ^= int(HASHES[man * 64 + square])
        score += int(SCORES[man * 64 + square])
    white, black = sum(bits[:6]), sum(bits[6:])
    pawns, knights, bishops, rooks, queens, kings = (bits[kind] | bits[kind + 6] for kind in range(6))
    boards = (black, white) if side else (white, black)
    misc = rights | side << 10 | clock << 16 | number << 32
    words = [*boards, pawns, knights, bishops | queens, rooks | queens, kings, misc, hashed, score]
    state = tuple(U(word % 2**64) for word in words)
    noted = (*state[:MISC], U(misc | passed << 4), U(hashed ^ int(HASHES[PASSED_OF + passed])), state[SCORE])
    return noted if passed and en_passant_origins(noted) else state


def parse_position(text: str, options: Mapping[str, str]) -> State:
    fields = text.split(" ")
    if len(fields) != 6:
        raise ValueError(
            "a FEN has six fields: pieces, side to move, castling, en passant, halfmove clock, move number"
        )
    men = _parse_men(fields[0])
    if fields[1] not in ("w", "b"):
        raise ValueError("the side to move is w or b")
    side = "wb".index(fields[1])
    rights = _parse_rights(fields[2], men)
    passed = _parse_passed(fields[3], men, side)
    clock = _parse_number(fields[4], "the halfmove clock", 0, LIMIT_PLIES)
    number = _parse_number(fields[5], "the number of the move", 1, HIGHEST_NUMBER)
    other = _state(men, 1 - side, rights, 0, clock, number)
    if in_check(other):
        raise ValueError("the side that is not to move is in check")
    return _state(men, side, rights, passed, clock, number)


def _parse_men(text: str) -> dict[int, int]:
    rows = text.split("/")
    if len(rows) != 8:
        raise ValueError("the pieces are eight rows with / between them, row 8 first")
    men = {}
    for rank, row in zip(range(7, -1, -1), rows, strict=True):
        if not re.fullmatch(f"(?:[1-8](?![1-8])|[{LETTERS}])+", row):
            raise ValueError(f"row {rank + 1} is written with {LETTERS} and single digits for empty squares")
        squares = re.sub("[1-8]", lambda digit: "." * int(digit[0]), row)
        if len(squares) != 8:
            raise ValueError(f"row {rank + 1} has {len(squares)} squares instead of 8")
        men.update({rank * 8 + file: LETTERS.index(c) for file, c in enumerate(squares) if c != "."})
    for side, name in enumerate(("White", "Black")):
        _check_men(name, [man - 6 * side for man in men.values() if man // 6 == side])
    if any(man % 6 == PAWN and square // 8 in (0, 7) for square, man in men.items()):
        raise ValueError("no pawn stands on the first or last row")
    return men


def _check_men(name: str, kinds: list[int]) -> None:
    """More pieces than a match can bring about would have more moves than MAX_MOVES."""
    if kinds.count(KING) != 1:
        raise ValueError(f"{name} has exactly one king, not {kinds.count(KING)}")
    pawns = kinds.count(PAWN)
    promoted = sum(max(0, kinds.count(kind) - (1 if kind == QUEEN else 2)) for kind in (KNIGHT, BISHOP, ROOK, QUEEN))
    if pawns > 8 or promoted > 8 - pawns:
        raise ValueError(f"{name} has more pieces than eight pawns can become")


def _parse_rights(text: str, men: Mapping[int, int]) -> int:
    if not re.fullmatch("-|(?=.)K?Q?k?q?", text):
        raise ValueError("castling rights are some of KQkq in this order, or -")
    for letter, king, rook in (("K", 4, 7), ("Q", 4, 0), ("k", 60, 63), ("q", 60, 56)):
        side = 0 if letter.isupper() else 6
        if letter in text and (men.get(king) != KING + side or men.get(rook) != ROOK + side):
            raise ValueError(f"the right {letter} needs a king on {CELLS[king]} and a rook on {CELLS[rook]}")
    return sum(1 << "KQkq".index(letter) for letter in text if letter != "-")


def _parse_passed(text: str, men: Mapping[int, int], side: int) -> int:
    """The en passant square; FENs name it after every double step."""
    if text == "-":
        return 0
    if text not in CELLS[40:48] + CELLS[16:24] or text[1] != "63"[side]:
        raise ValueError(f"the en passant square is - or on row {'63'[side]}")
    square = CELLS.index(text)
    ahead = -8 if side == 0 else 8
    if men.get(square + ahead) != PAWN + 6 * (1 - side) or {square, square - ahead} & men.keys():
        raise ValueError(f"no pawn can just have passed {text}")
    return square


def _parse_number(text: str, name: str, low: int, high: int) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,5}", text) or not low <= int(text) <= high:
        raise ValueError(f"{name} is {low} to {high}")
    return int(text)


def format_position(s: State) -> str:
    men = _men(s)
    rows = ("".join(LETTERS[men[rank + i]] if rank + i in men else "." for i in range(8)) for rank in range(56, -1, -8))
    board_text = re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(rows))
    misc = int(s[MISC])
    rights = "".join(letter for i, letter in enumerate("KQkq") if misc >> i & 1) or "-"
    passed = CELLS[misc >> 4 & 63] if misc >> 4 & 63 else "-"
    return f"{board_text} {'wb'[turn(s)]} {rights} {passed} {misc >> 16 & 0xFFFF} {misc >> 32}"


# --- moves as text: plain coordinates (UCI), and what players write (SAN)

NO_MOVE = 0
"""A move that is never legal: what a text means that is well-formed but fits no legal move."""
UCI = re.compile("([a-h][1-8])([a-h][1-8])([nbrq]?)")
SAN = re.compile("([KQRBN]?)([a-h]?)([1-8]?)[x-]?([a-h][1-8])(?:=?([QRBN]))?[+#]?")
CASTLING = re.compile("(?:O-O|0-0)(-[O0])?[+#]?")


def parse_move(s: State, text: str) -> int:
    uci = UCI.fullmatch(text)
    if uci:
        origin, target, kind = uci.groups()
        return CELLS.index(origin) | CELLS.index(target) << 6 | (".nbrq".index(kind) if kind else 0) << 12
    castling = CASTLING.fullmatch(text)
    if castling:
        origin, way = 60 if turn(s) else 4, -2 if castling[1] else 2
        return origin | origin + way << 6 if int(s[KINGS] & s[OWN]) >> origin & 1 else NO_MOVE
    san = SAN.fullmatch(text)
    if not san:
        raise ValueError("a move is written like e2e4, e7e8q, Nf3, exd5, e8=Q or O-O")
    return _find_move(s, *san.groups())


def _find_move(s: State, letter: str, file: str, rank: str, target: str, new: str | None) -> int:
    """The legal move that fits; ValueError if several do."""
    kind, promoted = "PNBRQK".index(letter or "P"), ".NBRQ".index(new or ".")
    found = [
        m
        for m in _legal(s)
        if CELLS[m >> 6 & 63] == target
        and m >> 12 == promoted
        and kind_at(s, ONE << U(m & 63)) == kind
        and not _is_castling(kind, m)
        and CELLS[m & 63][0] == (file or CELLS[m & 63][0])
        and CELLS[m & 63][1] == (rank or CELLS[m & 63][1])
    ]
    if len(found) > 1:
        raise ValueError("several pieces can go there: say from which row or column")
    return found[0] if found else NO_MOVE


def _legal(s: State) -> list[int]:
    buffer = [0] * MAX_MOVES
    return buffer[: moves(s, buffer)]


def _is_castling(kind: int, m: int) -> bool:
    return kind == KING and abs((m & 63) - (m >> 6 & 63)) == 2


def format_move(s: State, m: int) -> str:
    return CELLS[m & 63] + CELLS[m >> 6 & 63] + ("", "n", "b", "r", "q")[m >> 12]


def notation(s: State, m: int) -> str:
    """Standard algebraic notation."""
    after = play(s, m)
    mark = "" if not in_check(after) else "+" if count_moves(after) else "#"
    kind = kind_at(s, ONE << U(m & 63))
    if _is_castling(kind, m):
        return ("O-O-O" if m & 63 > m >> 6 & 63 else "O-O") + mark
    origin, target = CELLS[m & 63], CELLS[m >> 6 & 63]
    if kind == PAWN:
        captures = origin[0] != target[0]
        promoted = "=" + LETTERS[m >> 12] if m >> 12 else ""
        return (f"{origin[0]}x" if captures else "") + target + promoted + mark
    captures = bool(s[THEIRS] >> U(m >> 6 & 63) & ONE)
    return LETTERS[kind] + _distinction(s, m, kind) + ("x" if captures else "") + target + mark


def _distinction(s: State, m: int, kind: int) -> str:
    """What tells the piece from others of its kind that could go there: column, else row, else both."""
    rivals = [
        CELLS[other & 63]
        for other in _legal(s)
        if other >> 6 == m >> 6 and other != m and kind_at(s, ONE << U(other & 63)) == kind
    ]
    origin = CELLS[m & 63]
    if not rivals:
        return ""
    if all(rival[0] != origin[0] for rival in rivals):
        return origin[0]
    if all(rival[1] != origin[1] for rival in rivals):
        return origin[1]
    return origin


# --- what to draw

NAMES = ("White", "Black")
SPRITES: tuple[Sprite, ...] = ("pawn", "knight", "bishop", "rook", "queen", "king")


def ending(s: State) -> str:
    if not count_moves(s):
        return "checkmate" if in_check(s) else "stalemate"
    if cannot_mate(s):
        return "not enough pieces to mate"
    return "75 moves of each without a capture or a pawn move"


def board(options: Mapping[str, str]) -> BoardView:
    kinds = {
        letter: Kind(name=f"{NAMES[i // 6].lower()} {SPRITES[i % 6]}", side=i // 6, sprite=SPRITES[i % 6], text=letter)
        for i, letter in enumerate(LETTERS)
    }
    seats = (SeatView("White", "#f5f1e6"), SeatView("Black", "#3a3f44"))
    return BoardView(board=Grid(cols=8, rows=8, style="checker", flips=True), kinds=kinds, seats=seats)


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    pieces = {CELLS[square]: LETTERS[man] for square, man in _men(s).items()}
    path = (CELLS[last[1] & 63], CELLS[last[1] >> 6 & 63]) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": path}
    side, checked = turn(s), in_check(s)
    if checked:
        marks["check"] = (CELLS[lsb(s[KINGS] & s[OWN])],)
    if not count_moves(s):
        text = f"{NAMES[1 - side]} wins by checkmate" if checked else "Draw by stalemate"
        return PositionView(pieces, None, text, marks, path)
    if drawn(s):
        return PositionView(pieces, None, f"Draw: {ending(s)}", marks, path)
    text = f"{NAMES[side]} is in check" if checked else f"{NAMES[side]} to move"
    return PositionView(pieces, side, text, marks, path)


def move_view(s: State, m: int) -> MoveView:
    origin, target, promoted = m & 63, m >> 6 & 63, m >> 12
    kind = kind_at(s, ONE << U(origin))
    affects: tuple[str, ...] = ()
    if _is_castling(kind, m):
        affects = (CELLS[origin + 3 if target > origin else origin - 4], CELLS[(origin + target) // 2])
    elif kind == PAWN and target == passed_square(s) and target:
        affects = (CELLS[origin & 56 | target & 7],)
    return MoveView(
        id=format_move(s, m),
        path=(CELLS[origin], CELLS[target]),
        text=f"{CELLS[origin]}-{CELLS[target]}" + (f" {SPRITES[promoted]}" if promoted else ""),
        choice=SPRITES[promoted] if promoted else None,
        affects=affects,
        ghost=(CELLS[target], LETTERS[(promoted or kind) + 6 * turn(s)]),
    )
