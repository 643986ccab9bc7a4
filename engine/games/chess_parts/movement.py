"""The moves of chess.

Only legal moves are generated: first the check mask and the pinned pieces, then the moves that
respect both. `play` updates the hash incrementally.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    ALL_SQUARES,
    ANTIDIAGONAL_LINES,
    BISHOP,
    BLACK,
    BLACK_KEY,
    CLOCK,
    CLOCK_ONE,
    DIAGONAL_LINES,
    DIAGONALS,
    EIGHT,
    EN_PASSANT,
    EN_PASSANT_KEYS,
    EN_PASSANT_SHIFT,
    FILE_A,
    FILE_H,
    FILE_LINES,
    HASH,
    KEPT_RIGHTS,
    KING,
    KING_ATTACKS,
    KINGS,
    KNIGHT,
    KNIGHT_ATTACKS,
    KNIGHTS,
    LAST_RANKS,
    LINES,
    MISC,
    MOVE_NUMBER,
    MOVE_NUMBER_ONE,
    ONE,
    OWN,
    PAWN,
    PAWN_ATTACKS,
    PAWNS,
    QUEEN,
    RANK_3,
    RANK_6,
    RIGHTS,
    RIGHTS_KEYS,
    ROOK,
    STRAIGHTS,
    THEIRS,
    TWO,
    ZERO,
    ZOBRIST_KEYS,
    diagonal_attacks,
    en_passant_square,
    in_check,
    is_attacked,
    kind_at,
    lowest,
    side_of,
    straight_attacks,
)
from engine.jit import U, lsb, popcount, rule

#: No position has more than 323 moves: nine queens 27 each, rooks 14, bishops 13, knights 8, king
#: 8, castling 2. In the 15 further words `moves` keeps the quiet targets of up to 15 pieces.
MAX_MOVES = 323 + 15
#: A typed zero; a literal 0 would make the compiler compile a rule twice.
TYPED_ZERO: Any = np.int64(0)

# --- moves: origin | target << 6 | kind of the new piece << 12 (0: no promotion)


@rule
def check_mask_and_pins(s: State) -> tuple[np.uint64, np.uint64]:
    """The check mask and the own pieces that are pinned.

    Any move but the king's must end in the check mask. It is all squares without a check, and empty
    in double check.
    """
    king = s[KINGS] & s[OWN]
    square = lsb(king)
    occupied = s[OWN] | s[THEIRS]
    checkers = (
        KNIGHT_ATTACKS[square] & s[KNIGHTS] | PAWN_ATTACKS[side_of(s) * 64 + square] & s[PAWNS]
    ) & s[THEIRS]
    check_mask = checkers
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
                check_mask |= slider | between
            elif blockers & (blockers - ONE) == ZERO:
                pinned |= blockers & s[OWN]
    if checkers == ZERO:
        return ALL_SQUARES, pinned
    if checkers & (checkers - ONE):
        return ZERO, pinned
    return check_mask, pinned


@rule
def pin_line(king_square: int, bit: np.uint64) -> np.uint64:
    """The line through the king and a pinned piece."""
    for i in range(4):
        if LINES[i * 64 + king_square] & bit:
            return U(LINES[i * 64 + king_square])
    return ZERO


@rule
def king_targets(s: State, check_mask: np.uint64, target_mask: np.uint64) -> np.uint64:
    """The legal targets of the king within `target_mask`; castling is a move by two squares."""
    king = s[KINGS] & s[OWN]
    occupied = s[OWN] | s[THEIRS]
    castling = ZERO
    rights = s[MISC] & (U(12) if s[MISC] & BLACK else U(3))
    if rights and check_mask == ALL_SQUARES:
        if rights & U(5) and not occupied & (king << ONE | king << TWO):
            castling = king << TWO
        if rights & U(10) and not occupied & (king >> ONE | king >> TWO | king >> U(3)):
            castling |= king >> TWO
    candidates = (KING_ATTACKS[lsb(king)] | castling) & target_mask
    safe = ZERO
    while candidates:
        target = lowest(candidates)
        candidates ^= target
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
    pushers = pawns & (~pinned | LINES[FILE_LINES + square])
    sevens = pawns & (~pinned | LINES[ANTIDIAGONAL_LINES + square])
    nines = pawns & (~pinned | LINES[DIAGONAL_LINES + square])
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

    Each capture is tested on its own, since two pawns may leave the rank of the king at once.
    """
    side = side_of(s)
    target = en_passant_square(s)
    king_square = lsb(s[KINGS] & s[OWN])
    captured = ONE << U(target - 8 + 16 * side)
    occupied_after = (s[OWN] | s[THEIRS] | ONE << U(target)) ^ captured
    pawns = PAWN_ATTACKS[(1 - side) * 64 + target] & s[PAWNS] & s[OWN]
    legal = ZERO
    while pawns:
        pawn = lowest(pawns)
        pawns ^= pawn
        if not is_attacked(s, king_square, occupied_after ^ pawn, s[THEIRS] ^ captured):
            legal |= pawn
    return legal


@rule
def count(s: State, buf: Any) -> int:
    return count_moves(s)


@rule
def count_moves(s: State) -> int:
    """The number of legal moves, from the sizes of the target sets."""
    check_mask, pinned = check_mask_and_pins(s)
    n = popcount(king_targets(s, check_mask, ~s[OWN]))
    if check_mask == ZERO:
        return n
    pushes, doubles, sevens, nines = pawn_targets(s, pinned)
    pushes &= check_mask
    sevens &= check_mask
    nines &= check_mask
    n += popcount(pushes) + popcount(doubles & check_mask) + popcount(sevens) + popcount(nines)
    if (pushes | sevens | nines) & LAST_RANKS:
        n += 3 * (
            popcount(pushes & LAST_RANKS)
            + popcount(sevens & LAST_RANKS)
            + popcount(nines & LAST_RANKS)
        )
    if s[MISC] & EN_PASSANT:
        n += popcount(en_passant_origins(s))
    return n + count_piece_moves(s, pinned, check_mask & ~s[OWN])


@rule
def count_piece_moves(s: State, pinned: np.uint64, target_mask: np.uint64) -> int:
    """The number of moves of knights, bishops, rooks and queens to squares of `target_mask`."""
    occupied = s[OWN] | s[THEIRS]
    king_square = lsb(s[KINGS] & s[OWN])
    n = 0
    pieces = s[KNIGHTS] & s[OWN] & ~pinned
    while pieces:
        n += popcount(KNIGHT_ATTACKS[lsb(pieces)] & target_mask)
        pieces &= pieces - ONE
    pieces = s[DIAGONALS] & s[OWN]
    while pieces:
        targets = diagonal_attacks(lsb(pieces), occupied) & target_mask
        if lowest(pieces) & pinned:
            targets &= pin_line(king_square, lowest(pieces))
        n += popcount(targets)
        pieces &= pieces - ONE
    pieces = s[STRAIGHTS] & s[OWN]
    while pieces:
        targets = straight_attacks(lsb(pieces), occupied) & target_mask
        if lowest(pieces) & pinned:
            targets &= pin_line(king_square, lowest(pieces))
        n += popcount(targets)
        pieces &= pieces - ONE
    return n


@rule
def moves(s: State, buf: Any) -> int:
    """Writes the legal moves, captures and promotions first."""
    check_mask, pinned = check_mask_and_pins(s)
    king_square = lsb(s[KINGS] & s[OWN])
    step = 8 - 16 * side_of(s)
    king_moves = king_targets(s, check_mask, ~s[OWN])
    if check_mask == ZERO:
        n = add_moves(buf, TYPED_ZERO, king_square, king_moves & s[THEIRS])
        return add_moves(buf, n, king_square, king_moves & ~s[THEIRS])
    # 1. Captures. The end of the buffer keeps the quiet targets of the pieces for step 2.
    pushes, doubles, sevens, nines = pawn_targets(s, pinned)
    pushes &= check_mask
    n = add_tactical_pawn_moves(
        s, buf, pushes & LAST_RANKS, sevens & check_mask, nines & check_mask
    )
    pieces = (s[KNIGHTS] & ~pinned | s[DIAGONALS] | s[STRAIGHTS]) & s[OWN]
    occupied = s[OWN] | s[THEIRS]
    remaining = pieces
    quiet_index = MAX_MOVES
    while remaining:
        piece = lowest(remaining)
        remaining ^= piece
        targets = piece_targets(s, piece, occupied) & check_mask
        if piece & pinned:
            targets &= pin_line(king_square, piece)
        n = add_moves(buf, n, lsb(piece), targets & s[THEIRS])
        quiet_index -= 1
        buf[quiet_index] = np.int64(targets & ~occupied)
    n = add_moves(buf, n, king_square, king_moves & s[THEIRS])
    # 2. Quiet moves.
    n = add_pawn_moves(buf, n, pushes & ~LAST_RANKS, step)
    n = add_pawn_moves(buf, n, doubles & check_mask, 2 * step)
    quiet_index = MAX_MOVES
    while pieces:
        quiet_index -= 1
        n = add_moves(buf, n, lsb(pieces), U(buf[quiet_index]))
        pieces &= pieces - ONE
    return add_moves(buf, n, king_square, king_moves & ~s[THEIRS])


@rule
def add_tactical_pawn_moves(
    s: State, buf: Any, promotions: np.uint64, sevens: np.uint64, nines: np.uint64
) -> int:
    """Writes the promotions and captures of pawns at the beginning of the buffer."""
    direction = 1 - 2 * side_of(s)
    n = add_pawn_moves(buf, TYPED_ZERO, promotions, 8 * direction)
    n = add_pawn_moves(buf, n, sevens, 7 * direction)
    n = add_pawn_moves(buf, n, nines, 9 * direction)
    if s[MISC] & EN_PASSANT:
        target = en_passant_square(s)
        origins = en_passant_origins(s)
        while origins:
            buf[n] = lsb(origins) | target << 6
            n += 1
            origins &= origins - ONE
    return n


@rule
def piece_targets(s: State, piece: np.uint64, occupied: np.uint64) -> np.uint64:
    """The squares that a knight, bishop, rook or queen attacks."""
    square = lsb(piece)
    if piece & s[KNIGHTS]:
        return U(KNIGHT_ATTACKS[square])
    targets = ZERO
    if piece & s[DIAGONALS]:
        targets = diagonal_attacks(square, occupied)
    if piece & s[STRAIGHTS]:
        targets |= straight_attacks(square, occupied)
    return targets


@rule
def add_moves(buf: Any, n: int, origin: int, targets: np.uint64) -> int:
    while targets:
        buf[n] = origin | lsb(targets) << 6
        n += 1
        targets &= targets - ONE
    return n


@rule
def add_pawn_moves(buf: Any, n: int, targets: np.uint64, step: int) -> int:
    """Writes pawn moves that start `step` before their targets; a promotion is four moves."""
    while targets:
        m = lsb(targets) * 65 - step
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
    own, theirs, pawns, knights, diagonals, straights, kings, misc, key = s
    origin = m & 63
    target = (m >> 6) & 63
    side = side_of(s)
    to_bit = ONE << U(target)
    unchanged = ~(ONE << U(origin) | to_bit)
    kind = kind_at(s, ~unchanged ^ to_bit)
    # 1. The captured piece leaves the board; en passant it stands beside the origin.
    captured = to_bit
    if kind == PAWN and target == en_passant_square(s) and target != 0:
        captured = ONE << U(target - 8 + 16 * side)
        unchanged ^= captured
    is_capture = theirs & captured != ZERO
    if is_capture:
        captured_key = (1 - side) * 384 + kind_at(s, captured) * 64 + lsb(captured)
        key ^= ZOBRIST_KEYS[captured_key]
    # 2. The piece moves to its target, perhaps promoted.
    new_kind = m >> 12 if m >> 12 else kind
    from_key, to_key = side * 384 + kind * 64 + origin, side * 384 + new_kind * 64 + target
    key ^= ZOBRIST_KEYS[from_key] ^ ZOBRIST_KEYS[to_key]
    own = own & unchanged | to_bit
    theirs &= unchanged
    pawns = pawns & unchanged | (to_bit if new_kind == PAWN else ZERO)
    knights = knights & unchanged | (to_bit if new_kind == KNIGHT else ZERO)
    diagonals = diagonals & unchanged | (to_bit if new_kind in (BISHOP, QUEEN) else ZERO)
    straights = straights & unchanged | (to_bit if new_kind in (ROOK, QUEEN) else ZERO)
    kings = kings & unchanged | (to_bit if new_kind == KING else ZERO)
    # 3. Castling: the rook jumps over the king.
    if kind == KING and (target - origin == 2 or origin - target == 2):
        corner = origin + 3 if target > origin else origin - 4
        rook_target = (origin + target) >> 1
        jump = ONE << U(corner) | ONE << U(rook_target)
        own ^= jump
        straights ^= jump
        corner += side * 384 + ROOK * 64
        rook_target += side * 384 + ROOK * 64
        key ^= ZOBRIST_KEYS[corner] ^ ZOBRIST_KEYS[rook_target]
    # 4. Rights, clock and number. The en passant square is set only where such a capture is legal.
    rights = misc & RIGHTS & KEPT_RIGHTS[origin] & KEPT_RIGHTS[target]
    clock = ZERO if kind == PAWN or is_capture else (misc & CLOCK) + CLOCK_ONE
    number = (misc & MOVE_NUMBER) + (MOVE_NUMBER_ONE if side == 1 else ZERO)
    key ^= (
        ZOBRIST_KEYS[RIGHTS_KEYS + np.int64(misc & RIGHTS)]
        ^ ZOBRIST_KEYS[RIGHTS_KEYS + np.int64(rights)]
    )
    key ^= ZOBRIST_KEYS[EN_PASSANT_KEYS + en_passant_square(s)] ^ BLACK_KEY
    misc = rights | clock | number | (~misc & BLACK)
    if kind == PAWN and origin ^ target == 16:
        passed = (origin + target) >> 1
        if PAWN_ATTACKS[side * 64 + passed] & pawns & theirs:
            with_en_passant = misc | U(passed) << EN_PASSANT_SHIFT
            after = (theirs, own, pawns, knights, diagonals, straights, kings, with_en_passant, key)
            if en_passant_origins(after):
                misc = with_en_passant
                key ^= ZOBRIST_KEYS[EN_PASSANT_KEYS + passed]
    return (theirs, own, pawns, knights, diagonals, straights, kings, misc, key)


# --- hooks for the search


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the captures and promotions."""
    check_mask, pinned = check_mask_and_pins(s)
    n = TYPED_ZERO
    king_square = lsb(s[KINGS] & s[OWN])
    if check_mask:
        pushes, _, sevens, nines = pawn_targets(s, pinned)
        n = add_tactical_pawn_moves(
            s, buf, pushes & check_mask & LAST_RANKS, sevens & check_mask, nines & check_mask
        )
        target_mask = check_mask & s[THEIRS]
        occupied = s[OWN] | s[THEIRS]
        pieces = (s[KNIGHTS] & ~pinned | s[DIAGONALS] | s[STRAIGHTS]) & s[OWN]
        while pieces:
            piece = lowest(pieces)
            pieces ^= piece
            targets = piece_targets(s, piece, occupied) & target_mask
            if piece & pinned:
                targets &= pin_line(king_square, piece)
            n = add_moves(buf, n, lsb(piece), targets)
    return add_moves(buf, n, king_square, king_targets(s, check_mask, s[THEIRS]))


@rule
def may_pass(s: State) -> int:
    """0 in check, and 0 with a king and pawns only, where zugzwang is common; else 1."""
    return 1 if s[OWN] & (s[KNIGHTS] | s[DIAGONALS] | s[STRAIGHTS]) and not in_check(s) else 0


@rule
def pass_turn(s: State) -> State:
    """The state after a null move.

    The clock restarts, so no earlier position counts as a repetition.
    """
    key = s[HASH] ^ BLACK_KEY ^ ZOBRIST_KEYS[EN_PASSANT_KEYS + en_passant_square(s)]
    misc = (s[MISC] & (RIGHTS | MOVE_NUMBER | BLACK)) ^ BLACK
    return (
        s[THEIRS],
        s[OWN],
        s[PAWNS],
        s[KNIGHTS],
        s[DIAGONALS],
        s[STRAIGHTS],
        s[KINGS],
        misc,
        key,
    )
