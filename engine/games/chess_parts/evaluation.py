"""The tapered evaluation of chess: a middlegame and an endgame sum, mixed by the pieces left.

All weights are DATA, named in LAYOUT. The evaluation is linear in them (except in drawish endings),
so that a tuner can learn them. Each side is evaluated as if it were White: for Black the board is
mirrored. A middlegame and an endgame value are packed into one integer, mg << 16 + eg, so that one
addition adds both.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    BISHOP,
    BLACK,
    DARK,
    DIAGONALS,
    EIGHT,
    FILE_A,
    FILE_H,
    FULL,
    KING,
    KING_STEPS,
    KNIGHT,
    KNIGHT_STEPS,
    KNIGHTS,
    ONE,
    OWN,
    PAWNS,
    QUEEN,
    ROOK,
    STRAIGHTS,
    THEIRS,
    ZERO,
    diagonal_attacks,
    lowest,
    straight_attacks,
)
from engine.jit import U, lsb, popcount, rule

#: The rows of the DATA file and the number of weights in each. The file has all rows for the
#: middlegame, then all rows for the endgame.
LAYOUT = {
    "pawn squares": 64,
    "knight squares": 64,
    "bishop squares": 64,
    "rook squares": 64,
    "queen squares": 64,
    "king squares": 64,
    "knight mobility": 9,
    "bishop mobility": 14,
    "rook mobility": 15,
    "queen mobility": 28,
    "attack on the king": 40,
    "shelter": 8,
    "storm": 8,
    "passed pawn": 8,
    "free passed pawn": 8,
    "own king near": 8,
    "enemy king near": 8,
    "connected pawn": 8,
    "isolated pawn": 1,
    "doubled pawn": 1,
    "backward pawn": 1,
    "bishop pair": 1,
    "bad bishop": 1,
    "outpost": 2,
    "open file": 2,
    "pawn threat": 1,
    "piece threat": 3,
    "space": 1,
    "tempo": 1,
    "bare king": 1,
    "safe check": 4,
    "weak ring": 1,
    "hanging": 2,
    "push threat": 1,
    "restricted": 1,
    "shielded": 1,
    "safe passed pawn": 8,
    "rook behind": 1,
}
#: A typed 0: a literal one would make the compiler compile a rule a second time.
NO_TERMS: Any = np.int64(0)
#: The index of the first weight of each row, typed for the same reason.
_FIRST: dict[str, Any] = dict(zip(LAYOUT, np.cumsum([0, *LAYOUT.values()]), strict=False))
#: The offset from a middlegame weight to the endgame weight.
ENDGAME = sum(LAYOUT.values())

KNIGHT_MOBILITY, BISHOP_MOBILITY = _FIRST["knight mobility"], _FIRST["bishop mobility"]
ROOK_MOBILITY, QUEEN_MOBILITY = _FIRST["rook mobility"], _FIRST["queen mobility"]
ATTACK, SHELTER, STORM = _FIRST["attack on the king"], _FIRST["shelter"], _FIRST["storm"]
PASSED_PAWN, FREE_PASSED = _FIRST["passed pawn"], _FIRST["free passed pawn"]
OWN_KING_NEAR, ENEMY_KING_NEAR = _FIRST["own king near"], _FIRST["enemy king near"]
CONNECTED, ISOLATED = _FIRST["connected pawn"], _FIRST["isolated pawn"]
DOUBLED = _FIRST["doubled pawn"]
BACKWARD, PAIR, BAD_BISHOP = _FIRST["backward pawn"], _FIRST["bishop pair"], _FIRST["bad bishop"]
OUTPOST, OPEN_FILE = _FIRST["outpost"], _FIRST["open file"]
PAWN_THREAT, PIECE_THREAT = _FIRST["pawn threat"], _FIRST["piece threat"]
SPACE, TEMPO, BARE_KING = _FIRST["space"], _FIRST["tempo"], _FIRST["bare king"]
SAFE_CHECK, WEAK_RING, HANGING = _FIRST["safe check"], _FIRST["weak ring"], _FIRST["hanging"]
PUSH_THREAT, RESTRICTED, SHIELDED = _FIRST["push threat"], _FIRST["restricted"], _FIRST["shielded"]
SAFE_PASSED, ROOK_BEHIND = _FIRST["safe passed pawn"], _FIRST["rook behind"]

#: The attack units of each attacked square beside the enemy king, by the kind of piece.
LIGHT_UNITS, ROOK_UNITS, QUEEN_UNITS = 2, 3, 4
#: The highest index into "attack on the king".
MOST_UNITS = 39
#: The phase of all pieces (knights and bishops 1, rooks 2, queens 3), where only the middlegame
#: counts; and the phase below which the score is scaled for drawish endings.
FULL_PHASE, HALF_PHASE = 22, 11
#: The scale at which the score counts in full.
SCALE = 64
ROWS_2_TO_4, MIDDLE_FILES = U(0xFFFFFF00), U(0x3C3C3C3C3C3C3C3C)
ROWS_4_TO_6 = U(0xFFFFFF000000)
EVEN_8, EVEN_16 = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)
SEVEN, NINE, SIXTEEN, THIRTY_TWO = U(7), U(9), U(16), U(32)


@rule
def mirrored(x: np.uint64) -> np.uint64:
    """The board flipped vertically: row 1 exchanged with row 8, 2 with 7, and so on."""
    x = (x >> EIGHT) & EVEN_8 | (x & EVEN_8) << EIGHT
    x = (x >> SIXTEEN) & EVEN_16 | (x & EVEN_16) << SIXTEEN
    return x >> THIRTY_TWO | x << THIRTY_TWO


@rule
def above(x: np.uint64) -> np.uint64:
    """The squares of `x` and all squares in front of them."""
    x |= x << EIGHT
    x |= x << SIXTEEN
    return x | x << THIRTY_TWO


@rule
def below(x: np.uint64) -> np.uint64:
    """The squares of `x` and all squares behind them."""
    x |= x >> EIGHT
    x |= x >> SIXTEEN
    return x | x >> THIRTY_TWO


@rule
def beside(x: np.uint64) -> np.uint64:
    """The squares to the left and to the right of those of `x`."""
    return (x & ~FILE_A) >> ONE | (x & ~FILE_H) << ONE


@rule
def term(data: Any, i: int) -> int:
    """The middlegame weight i and its endgame weight, packed into one integer."""
    return int((data[i] << 16) + data[i + ENDGAME])


@rule
def distance(a: int, b: int) -> int:
    """The number of king moves from one square to another."""
    return max(abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3)))


@rule
def pawn_terms(
    pawns: np.uint64, enemies: np.uint64, occupied: np.uint64, king: int, enemy_king: int, data: Any
) -> int:
    """Pawn placement and structure, and passed pawns with the distances of both kings."""
    guards = beside(pawns << EIGHT)
    seen = below(enemies >> EIGHT)
    passed = pawns & ~(seen | beside(seen)) & ~below(pawns >> EIGHT)
    connected = pawns & (guards | beside(pawns))
    weak = pawns & ~beside(above(pawns) | below(pawns))
    total = term(data, ISOLATED) * popcount(weak)
    total += term(data, DOUBLED) * popcount(pawns & below(pawns >> EIGHT))
    held_back = (beside(enemies >> EIGHT) & ~above(guards)) >> EIGHT
    total += term(data, BACKWARD) * popcount(pawns & held_back & ~weak)
    while pawns:
        pawn = lowest(pawns)
        pawns ^= pawn
        square = lsb(pawn)
        row = square >> 3
        total += term(data, square)
        if pawn & connected:
            total += term(data, CONNECTED + row)
        if pawn & passed:
            total += term(data, PASSED_PAWN + row)
            if not pawn << EIGHT & occupied:
                total += term(data, FREE_PASSED + row)
            if row >= 3:
                total += term(data, OWN_KING_NEAR + distance(king, square + 8))
                total += term(data, ENEMY_KING_NEAR + distance(enemy_king, square + 8))
    return total


@rule
def shelter_terms(pawns: np.uint64, enemies: np.uint64, king: int, data: Any) -> int:
    """Pawn shelter and storm: each side's nearest pawn before the king on three files, by row."""
    total = NO_TERMS
    file = min(max(king & 7, 1), 6) - 1
    ahead = FULL << U(king & 56)
    for i in range(3):
        column = (FILE_A << U(file + i)) & ahead
        mine, other = pawns & column, enemies & column
        total += term(data, SHELTER + (lsb(mine) >> 3 if mine else 0))
        total += term(data, STORM + (lsb(other) >> 3 if other else 0))
    return int(total)


#: The pieces of the evaluated side and of the other side; then the pawns, knights, diagonals,
#: straights and kings of both.
Boards = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]
#: The squares that a side's knights, bishops, rooks and queens attack; those that any of its pieces
#: attacks, and those that at least two attack.
Reach = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]


@rule
def turned(x: Boards) -> Boards:
    """The board as the other side sees it."""
    mine, other, pawns, knights, diagonals, straights, kings = x
    return (
        mirrored(other),
        mirrored(mine),
        mirrored(pawns),
        mirrored(knights),
        mirrored(diagonals),
        mirrored(straights),
        mirrored(kings),
    )


@rule
def turned_reach(x: Reach) -> Reach:
    return (
        mirrored(x[0]),
        mirrored(x[1]),
        mirrored(x[2]),
        mirrored(x[3]),
        mirrored(x[4]),
        mirrored(x[5]),
    )


@rule
def own_terms(boards: Boards, data: Any) -> tuple[int, Reach]:
    """The terms of one side, which plays up the board, and the squares that it attacks."""
    mine, other, all_pawns, knights, diagonals, straights, kings = boards
    occupied = mine | other
    pawns, enemies = all_pawns & mine, all_pawns & other
    king, enemy_king = lsb(kings & mine), lsb(kings & other)
    # 1. Pawns, and the king behind them.
    total = pawn_terms(pawns, enemies, occupied, king, enemy_king, data)
    total += term(data, KING * 64 + king) + shelter_terms(pawns, enemies, king, data)
    guards = beside(pawns << EIGHT)
    guarded = beside(enemies >> EIGHT)
    total += term(data, PAWN_THREAT) * popcount(guards & other & ~all_pawns)
    total += term(data, SPACE) * popcount(ROWS_2_TO_4 & MIDDLE_FILES & ~pawns & ~guarded)
    # 2. The other pieces: placement, mobility, threats and attacks beside the enemy king. Each kind
    # has its own loop, because a branch on the kind cannot be predicted.
    safe = ~(pawns | kings & mine | guarded)
    ring = KING_STEPS[enemy_king]
    outposts = guards & ROWS_4_TO_6 & ~below(guarded)
    rooks_and_queens = other & straights
    loose = other & ~guarded & (knights | diagonals & ~straights)
    reached = guards | KING_STEPS[king]
    twice = guards & KING_STEPS[king] | ((pawns & ~FILE_A) << SEVEN) & ((pawns & ~FILE_H) << NINE)
    hits: Any = np.int64(0)
    attackers_of_king: Any = np.int64(0)
    by_knights = ZERO
    pieces = mine & knights
    total += term(data, OUTPOST) * popcount(pieces & outposts)
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = KNIGHT_STEPS[square]
        twice |= reached & targets
        reached |= targets
        by_knights |= targets
        total += term(data, KNIGHT * 64 + square) + term(
            data, KNIGHT_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT) * popcount(targets & rooks_and_queens)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & loose)
        hits += LIGHT_UNITS * popcount(targets & ring)
        attackers_of_king += np.int64(targets & ring != ZERO)
    by_bishops = ZERO
    pieces = mine & diagonals & ~straights
    total += term(data, OUTPOST + 1) * popcount(pieces & outposts)
    if pieces & (pieces - ONE):
        total += term(data, PAIR)
    bad = popcount(pieces & DARK) * popcount(pawns & DARK) + popcount(pieces & ~DARK) * popcount(
        pawns & ~DARK
    )
    total += term(data, BAD_BISHOP) * bad
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = diagonal_attacks(square, occupied)
        twice |= reached & targets
        reached |= targets
        by_bishops |= targets
        total += term(data, BISHOP * 64 + square) + term(
            data, BISHOP_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT) * popcount(targets & rooks_and_queens)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & loose)
        hits += LIGHT_UNITS * popcount(targets & ring)
        attackers_of_king += np.int64(targets & ring != ZERO)
    by_rooks = ZERO
    pieces = mine & straights & ~diagonals
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = straight_attacks(square, occupied)
        twice |= reached & targets
        reached |= targets
        by_rooks |= targets
        total += term(data, ROOK * 64 + square) + term(
            data, ROOK_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT + 1) * popcount(targets & rooks_and_queens & diagonals)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & loose)
        column = FILE_A << U(square & 7)
        if column & pawns == ZERO:
            total += term(data, OPEN_FILE + (1 if column & enemies else 0))
        hits += ROOK_UNITS * popcount(targets & ring)
        attackers_of_king += np.int64(targets & ring != ZERO)
    by_queens = ZERO
    pieces = mine & straights & diagonals
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = diagonal_attacks(square, occupied) | straight_attacks(square, occupied)
        twice |= reached & targets
        reached |= targets
        by_queens |= targets
        total += term(data, QUEEN * 64 + square) + term(
            data, QUEEN_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT + 2) * popcount(targets & loose)
        hits += QUEEN_UNITS * popcount(targets & ring)
        attackers_of_king += 2 * np.int64(targets & ring != ZERO)
    # 3. King attack: one piece alone is no danger to a king.
    if attackers_of_king > 1:
        total += term(data, ATTACK + min(hits, MOST_UNITS))
    # 4. Mop-up: a bare king is driven to the edge and towards the other king.
    if other == kings & other and mine & (straights | diagonals):
        centre = min(enemy_king & 7, 7 - (enemy_king & 7)) + min(
            enemy_king >> 3, 7 - (enemy_king >> 3)
        )
        total += term(data, BARE_KING) * (20 - 2 * centre - distance(king, enemy_king))
    return total, (by_knights, by_bishops, by_rooks, by_queens, reached, twice)


@rule
def contact_terms(boards: Boards, reach: Reach, answer: Reach, data: Any) -> int:
    """The terms of one side that depend on the attacks of both sides."""
    mine, other, all_pawns, knights, diagonals, straights, kings = boards
    by_knights, by_bishops, by_rooks, by_queens, reached, twice = reach
    occupied = mine | other
    pawns, enemies = all_pawns & mine, all_pawns & other
    enemy_king = lsb(kings & other)
    held, held_twice = answer[4], answer[5]
    guarded = beside(enemies >> EIGHT)
    # 1. Safe checks, which no piece but the king could capture, and weak squares beside the king.
    by_officers = answer[0] | answer[1] | answer[2] | answer[3] | guarded
    holes = reached & ~by_officers
    safe = ~mine & (~held | holes & twice)
    along = straight_attacks(enemy_king, occupied) & safe
    across = diagonal_attacks(enemy_king, occupied) & safe
    if KNIGHT_STEPS[enemy_king] & by_knights & safe:
        total = term(data, SAFE_CHECK)
    else:
        total = NO_TERMS
    if across & by_bishops:
        total += term(data, SAFE_CHECK + 1)
    if along & by_rooks:
        total += term(data, SAFE_CHECK + 2)
    if (along | across) & by_queens:
        total += term(data, SAFE_CHECK + 3)
    total += term(data, WEAK_RING) * popcount(holes & KING_STEPS[enemy_king])
    # 2. Hanging pieces, safe pawn pushes that attack a piece, and squares contested by both sides.
    hanging = reached & ~held & other
    total += term(data, HANGING) * popcount(hanging & all_pawns)
    total += term(data, HANGING + 1) * popcount(hanging & ~all_pawns)
    steps = (pawns << EIGHT) & ~occupied & ~guarded & (reached | ~held)
    total += term(data, PUSH_THREAT) * popcount(beside(steps << EIGHT) & other & ~all_pawns)
    total += term(data, RESTRICTED) * popcount(held & reached & ~guarded & ~(held_twice & ~twice))
    # 3. Minor pieces behind a pawn; passed pawns with a safe path, and rooks behind them.
    light = mine & (knights | diagonals & ~straights)
    total += term(data, SHIELDED) * popcount(light & (all_pawns >> EIGHT))
    seen = below(enemies >> EIGHT)
    passed = pawns & ~(seen | beside(seen)) & ~below(pawns >> EIGHT)
    while passed:
        pawn = lowest(passed)
        passed ^= pawn
        if above(pawn << EIGHT) & (held | other) == ZERO:
            total += term(data, SAFE_PASSED + (lsb(pawn) >> 3))
        if below(pawn >> EIGHT) & mine & straights & ~diagonals:
            total += term(data, ROOK_BEHIND)
    return int(total)


@rule
def scale_of(s: State, strong: np.uint64) -> int:
    """The part of the score that counts, of SCALE, for the side that is ahead.

    It is small when that side has no pawns and hardly more pieces, and half with bishops of
    opposite colours.
    """
    weak = s[OWN] ^ s[THEIRS] ^ strong
    bishops = s[DIAGONALS] & ~s[STRAIGHTS]
    if not s[PAWNS] & strong:
        light = s[KNIGHTS] | bishops
        more = 3 * (popcount(light & strong) - popcount(light & weak))
        rooks, queens = s[STRAIGHTS] & ~s[DIAGONALS], s[STRAIGHTS] & s[DIAGONALS]
        more += 5 * (popcount(rooks & strong) - popcount(rooks & weak))
        more += 9 * (popcount(queens & strong) - popcount(queens & weak))
        if more <= 3:
            return 8
        if not (s[STRAIGHTS] | bishops) & strong:
            return 4  # knights alone cannot force mate
    if (
        s[STRAIGHTS] | s[KNIGHTS]
        or popcount(bishops & strong) != 1
        or popcount(bishops & weak) != 1
    ):
        return SCALE
    return 32 if popcount(bishops & DARK) == 1 else SCALE


@rule
def evaluate(s: State, data: Any) -> int:
    own, theirs, pawns, knights, diagonals, straights, kings, misc, _ = s
    mine = (own, theirs, pawns, knights, diagonals, straights, kings)
    other = (theirs, own, pawns, knights, diagonals, straights, kings)
    if misc & BLACK:
        mine = turned(other)
    else:
        other = turned(mine)
    total, reach = own_terms(mine, data)
    against, answer = own_terms(other, data)
    total += contact_terms(mine, reach, turned_reach(answer), data) - against
    total += term(data, TEMPO) - contact_terms(other, answer, turned_reach(reach), data)
    end = ((total + 32768) & 65535) - 32768
    mid = (total - end) >> 16
    phase = min(popcount(knights) + popcount(diagonals) + 2 * popcount(straights), FULL_PHASE)
    value = (mid * phase + end * (FULL_PHASE - phase)) // FULL_PHASE
    if phase < HALF_PHASE:
        value = value * scale_of(s, s[OWN] if value > 0 else s[THEIRS]) // SCALE
    return int(value)
