"""The moves of chess.

Only legal moves are generated: first the squares that answer a check and the pieces pinned to the
king are found, then the moves that respect both. `play` updates the hash incrementally.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    BISHOP,
    BLACK,
    BLACK_HASH,
    CLOCK,
    CLOCK_ONE,
    DIAGONALS,
    EIGHT,
    FILE_A,
    FILE_H,
    FILES_OF,
    FULL,
    HASH,
    HASHES,
    KEPT,
    KING,
    KING_STEPS,
    KINGS,
    KNIGHT,
    KNIGHT_STEPS,
    KNIGHTS,
    LAST_RANKS,
    LINES,
    MISC,
    NINES_OF,
    NUMBER,
    NUMBER_ONE,
    ONE,
    OWN,
    PASSED,
    PASSED_OF,
    PASSED_SHIFT,
    PAWN,
    PAWN_STEPS,
    PAWNS,
    QUEEN,
    RANK_3,
    RANK_6,
    RIGHTS,
    RIGHTS_OF,
    ROOK,
    SEVENS_OF,
    STRAIGHTS,
    THEIRS,
    TWO,
    ZERO,
    diagonal_attacks,
    in_check,
    is_attacked,
    kind_at,
    lowest,
    passed_square,
    side_of,
    straight_attacks,
)
from engine.jit import U, lsb, popcount, rule

#: No position has more than 323 moves: nine queens 27 each, rooks 14, bishops 13, knights 8, king
#: 8, castling 2. The 15 more are the room where `moves` keeps the targets of fifteen officers.
MAX_MOVES = 323 + 15
#: A typed 0: a literal one would make the compiler compile a rule a second time.
NO_MOVES: Any = np.int64(0)

# --- moves: origin | target << 6 | kind of the new piece << 12 (0: no promotion)


@rule
def answers_and_pins(s: State) -> tuple[np.uint64, np.uint64]:
    """The squares where a move of any piece but the king must end, and the pinned own pieces.

    The first set is all squares without a check and none in double check.
    """
    king = s[KINGS] & s[OWN]
    square = lsb(king)
    occupied = s[OWN] | s[THEIRS]
    checkers = (
        KNIGHT_STEPS[square] & s[KNIGHTS] | PAWN_STEPS[side_of(s) * 64 + square] & s[PAWNS]
    ) & s[THEIRS]
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
    """The wanted squares that the king may go to, two squares away when castling."""
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
    """The targets of pawns: by single and double steps, and by captures 7 and 9 squares ahead."""
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
def en_passant_origins(s: State) -> np.uint64:
    """The pawns that may capture en passant.

    Each capture is tried out, since two pawns leave the row of the king at once.
    """
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
    """The number of legal moves, counted from the sizes of the target sets."""
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
        n += 3 * (
            popcount(pushes & LAST_RANKS)
            + popcount(sevens & LAST_RANKS)
            + popcount(nines & LAST_RANKS)
        )
    if s[MISC] & PASSED:
        n += popcount(en_passant_origins(s))
    return n + count_officers(s, pinned, answers & ~s[OWN])


@rule
def count_officers(s: State, pinned: np.uint64, wanted: np.uint64) -> int:
    """The number of moves of knights, bishops, rooks and queens to the wanted squares."""
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
    """Writes the legal moves, captures and promotions first."""
    answers, pinned = answers_and_pins(s)
    king_square = lsb(s[KINGS] & s[OWN])
    ahead = 8 - 16 * side_of(s)
    going = king_targets(s, answers, ~s[OWN])
    if answers == ZERO:
        n = write_from(buf, NO_MOVES, king_square, going & s[THEIRS])
        return write_from(buf, n, king_square, going & ~s[THEIRS])
    # 1. Captures. The end of the buffer keeps the quiet targets of the officers for step 2.
    pushes, doubles, sevens, nines = pawn_targets(s, pinned)
    pushes &= answers
    n = write_loud_pawns(s, buf, pushes & LAST_RANKS, sevens & answers, nines & answers)
    pieces = (s[KNIGHTS] & ~pinned | s[DIAGONALS] | s[STRAIGHTS]) & s[OWN]
    occupied = s[OWN] | s[THEIRS]
    left = pieces
    kept = MAX_MOVES
    while left:
        piece = lowest(left)
        left ^= piece
        targets = officer_targets(s, piece, occupied) & answers
        if piece & pinned:
            targets &= pin_line(king_square, piece)
        n = write_from(buf, n, lsb(piece), targets & s[THEIRS])
        kept -= 1
        buf[kept] = np.int64(targets & ~occupied)
    n = write_from(buf, n, king_square, going & s[THEIRS])
    # 2. Quiet moves.
    n = write_pawns(buf, n, pushes & ~LAST_RANKS, ahead)
    n = write_pawns(buf, n, doubles & answers, 2 * ahead)
    kept = MAX_MOVES
    while pieces:
        kept -= 1
        n = write_from(buf, n, lsb(pieces), U(buf[kept]))
        pieces &= pieces - ONE
    return write_from(buf, n, king_square, going & ~s[THEIRS])


@rule
def write_loud_pawns(
    s: State, buf: Any, promotions: np.uint64, sevens: np.uint64, nines: np.uint64
) -> int:
    """Writes the promotions and captures of pawns to the beginning of the buffer."""
    way = 1 - 2 * side_of(s)
    n = write_pawns(buf, NO_MOVES, promotions, 8 * way)
    n = write_pawns(buf, n, sevens, 7 * way)
    n = write_pawns(buf, n, nines, 9 * way)
    if s[MISC] & PASSED:
        passed = passed_square(s)
        origins = en_passant_origins(s)
        while origins:
            buf[n] = lsb(origins) | passed << 6
            n += 1
            origins &= origins - ONE
    return n


@rule
def officer_targets(s: State, piece: np.uint64, occupied: np.uint64) -> np.uint64:
    """The squares that a knight, bishop, rook or queen attacks."""
    square = lsb(piece)
    if piece & s[KNIGHTS]:
        return U(KNIGHT_STEPS[square])
    targets = ZERO
    if piece & s[DIAGONALS]:
        targets = diagonal_attacks(square, occupied)
    if piece & s[STRAIGHTS]:
        targets |= straight_attacks(square, occupied)
    return targets


@rule
def write_from(buf: Any, n: int, origin: int, targets: np.uint64) -> int:
    while targets:
        buf[n] = origin | lsb(targets) << 6
        n += 1
        targets &= targets - ONE
    return n


@rule
def write_pawns(buf: Any, n: int, targets: np.uint64, way: int) -> int:
    """Writes pawn moves that start `way` before their targets; promotions are four, queen first."""
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
def play(s: State, m: int) -> State:
    own, theirs, pawns, knights, diagonals, straights, kings, misc, hashed = s
    origin = m & 63
    target = (m >> 6) & 63
    side = side_of(s)
    to_bit = ONE << U(target)
    kept = ~(ONE << U(origin) | to_bit)
    kind = kind_at(s, ~kept ^ to_bit)
    # 1. The captured piece leaves the board; en passant it stands beside the origin.
    captured = to_bit
    if kind == PAWN and target == passed_square(s) and target != 0:
        captured = ONE << U(target - 8 + 16 * side)
        kept ^= captured
    is_capture = theirs & captured != ZERO
    if is_capture:
        taken = (1 - side) * 384 + kind_at(s, captured) * 64 + lsb(captured)
        hashed ^= HASHES[taken]
    # 2. The piece moves to its target, perhaps promoted.
    placed = m >> 12 if m >> 12 else kind
    lifted, landed = side * 384 + kind * 64 + origin, side * 384 + placed * 64 + target
    hashed ^= HASHES[lifted] ^ HASHES[landed]
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
    # 4. Rights, clock and number. The en passant square is set only where such a capture is legal.
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
            after = (theirs, own, pawns, knights, diagonals, straights, kings, noted, hashed)
            if en_passant_origins(after):
                misc = noted
                hashed ^= HASHES[PASSED_OF + passed]
    return (theirs, own, pawns, knights, diagonals, straights, kings, misc, hashed)


# --- hooks for the search


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the captures and promotions."""
    answers, pinned = answers_and_pins(s)
    n = NO_MOVES
    king_square = lsb(s[KINGS] & s[OWN])
    if answers:
        pushes, _, sevens, nines = pawn_targets(s, pinned)
        n = write_loud_pawns(
            s, buf, pushes & answers & LAST_RANKS, sevens & answers, nines & answers
        )
        wanted = answers & s[THEIRS]
        occupied = s[OWN] | s[THEIRS]
        pieces = (s[KNIGHTS] & ~pinned | s[DIAGONALS] | s[STRAIGHTS]) & s[OWN]
        while pieces:
            piece = lowest(pieces)
            pieces ^= piece
            targets = officer_targets(s, piece, occupied) & wanted
            if piece & pinned:
                targets &= pin_line(king_square, piece)
            n = write_from(buf, n, lsb(piece), targets)
    return write_from(buf, n, king_square, king_targets(s, answers, s[THEIRS]))


@rule
def may_pass(s: State) -> int:
    """0 in check, and with pawns alone, where zugzwang is common; else 1."""
    return 1 if s[OWN] & (s[KNIGHTS] | s[DIAGONALS] | s[STRAIGHTS]) and not in_check(s) else 0


@rule
def pass_turn(s: State) -> State:
    """The state after a null move.

    The clock restarts, so no earlier position counts as repeated.
    """
    hashed = s[HASH] ^ BLACK_HASH ^ HASHES[PASSED_OF + passed_square(s)]
    misc = (s[MISC] & (RIGHTS | NUMBER | BLACK)) ^ BLACK
    return (
        s[THEIRS],
        s[OWN],
        s[PAWNS],
        s[KNIGHTS],
        s[DIAGONALS],
        s[STRAIGHTS],
        s[KINGS],
        misc,
        hashed,
    )
