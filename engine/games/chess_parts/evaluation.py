"""The tapered evaluation of chess: a middlegame and an endgame sum, mixed by the pieces left.

All weights are DATA, named in LAYOUT. The evaluation is linear in them (except in drawish endings),
so that a tuner can fit them. Each side is evaluated as if it were White: for Black the board is
mirrored. A middlegame and an endgame value are packed into one integer, mg << 16 + eg, so that one
addition adds both.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    ALL_SQUARES,
    BISHOP,
    BLACK,
    DARK,
    DIAGONALS,
    EIGHT,
    FILE_A,
    FILE_H,
    KING,
    KING_ATTACKS,
    KNIGHT,
    KNIGHT_ATTACKS,
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
#: A typed zero; a literal 0 would make the compiler compile a rule twice.
NO_TERMS: Any = np.int64(0)
#: The index of the first weight of each row, typed for the same reason.
_ROW_STARTS: dict[str, Any] = dict(zip(LAYOUT, np.cumsum([0, *LAYOUT.values()]), strict=False))
#: The offset from a middlegame weight to the endgame weight.
ENDGAME = sum(LAYOUT.values())

#: The first weight of each row, for the rules.
KNIGHT_MOBILITY, BISHOP_MOBILITY = _ROW_STARTS["knight mobility"], _ROW_STARTS["bishop mobility"]
ROOK_MOBILITY, QUEEN_MOBILITY = _ROW_STARTS["rook mobility"], _ROW_STARTS["queen mobility"]
ATTACK, SHELTER, STORM = (
    _ROW_STARTS["attack on the king"],
    _ROW_STARTS["shelter"],
    _ROW_STARTS["storm"],
)
PASSED_PAWN, FREE_PASSED = _ROW_STARTS["passed pawn"], _ROW_STARTS["free passed pawn"]
OWN_KING_NEAR, ENEMY_KING_NEAR = _ROW_STARTS["own king near"], _ROW_STARTS["enemy king near"]
CONNECTED, ISOLATED = _ROW_STARTS["connected pawn"], _ROW_STARTS["isolated pawn"]
DOUBLED = _ROW_STARTS["doubled pawn"]
BACKWARD, PAIR, BAD_BISHOP = (
    _ROW_STARTS["backward pawn"],
    _ROW_STARTS["bishop pair"],
    _ROW_STARTS["bad bishop"],
)
OUTPOST, OPEN_FILE = _ROW_STARTS["outpost"], _ROW_STARTS["open file"]
PAWN_THREAT, PIECE_THREAT = _ROW_STARTS["pawn threat"], _ROW_STARTS["piece threat"]
SPACE, TEMPO, BARE_KING = _ROW_STARTS["space"], _ROW_STARTS["tempo"], _ROW_STARTS["bare king"]
SAFE_CHECK, WEAK_RING, HANGING = (
    _ROW_STARTS["safe check"],
    _ROW_STARTS["weak ring"],
    _ROW_STARTS["hanging"],
)
PUSH_THREAT, RESTRICTED, SHIELDED = (
    _ROW_STARTS["push threat"],
    _ROW_STARTS["restricted"],
    _ROW_STARTS["shielded"],
)
SAFE_PASSED, ROOK_BEHIND = _ROW_STARTS["safe passed pawn"], _ROW_STARTS["rook behind"]

#: Attack units for each attacked square next to the enemy king, by kind of piece.
LIGHT_UNITS, ROOK_UNITS, QUEEN_UNITS = 2, 3, 4
#: The highest index into "attack on the king".
MAX_ATTACK_UNITS = 39
#: The phase with all pieces (knights and bishops 1, rooks 2, queens 3), where only the middlegame
#: counts, and the phase below which the score is scaled down for drawish endings.
FULL_PHASE, HALF_PHASE = 22, 11
#: The scale of a score that is not reduced.
SCALE = 64
#: The squares for which `space` counts.
ROWS_2_TO_4, MIDDLE_FILES = U(0xFFFFFF00), U(0x3C3C3C3C3C3C3C3C)
#: The ranks of outposts.
ROWS_4_TO_6 = U(0xFFFFFF000000)
#: Masks for `mirrored`.
EVEN_ROWS, EVEN_ROW_PAIRS = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)
#: Shifts as words.
SEVEN, NINE, SIXTEEN, THIRTY_TWO = U(7), U(9), U(16), U(32)


@rule
def mirrored(x: np.uint64) -> np.uint64:
    """The board flipped vertically: rank 1 exchanged with rank 8, 2 with 7, and so on."""
    x = (x >> EIGHT) & EVEN_ROWS | (x & EVEN_ROWS) << EIGHT
    x = (x >> SIXTEEN) & EVEN_ROW_PAIRS | (x & EVEN_ROW_PAIRS) << SIXTEEN
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
    pawn_attacks = beside(pawns << EIGHT)
    enemy_spans = below(enemies >> EIGHT)
    passed = pawns & ~(enemy_spans | beside(enemy_spans)) & ~below(pawns >> EIGHT)
    connected = pawns & (pawn_attacks | beside(pawns))
    isolated = pawns & ~beside(above(pawns) | below(pawns))
    total = term(data, ISOLATED) * popcount(isolated)
    total += term(data, DOUBLED) * popcount(pawns & below(pawns >> EIGHT))
    held_back = (beside(enemies >> EIGHT) & ~above(pawn_attacks)) >> EIGHT
    total += term(data, BACKWARD) * popcount(pawns & held_back & ~isolated)
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
    """Pawn shelter and storm: each side's nearest pawn before the king on three files, by rank."""
    total = NO_TERMS
    file = min(max(king & 7, 1), 6) - 1
    ahead = ALL_SQUARES << U(king & 56)
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
Attacks = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]


@rule
def flipped(x: Boards) -> Boards:
    """The board as the other side sees it, with the sides exchanged."""
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
def flipped_attacks(x: Attacks) -> Attacks:
    return (
        mirrored(x[0]),
        mirrored(x[1]),
        mirrored(x[2]),
        mirrored(x[3]),
        mirrored(x[4]),
        mirrored(x[5]),
    )


@rule
def own_terms(boards: Boards, data: Any) -> tuple[int, Attacks]:
    """The terms of one side, which plays up the board, and the squares that it attacks."""
    mine, other, all_pawns, knights, diagonals, straights, kings = boards
    occupied = mine | other
    pawns, enemies = all_pawns & mine, all_pawns & other
    king, enemy_king = lsb(kings & mine), lsb(kings & other)
    # 1. Pawns, and the king behind them.
    total = pawn_terms(pawns, enemies, occupied, king, enemy_king, data)
    total += term(data, KING * 64 + king) + shelter_terms(pawns, enemies, king, data)
    pawn_attacks = beside(pawns << EIGHT)
    enemy_pawn_attacks = beside(enemies >> EIGHT)
    total += term(data, PAWN_THREAT) * popcount(pawn_attacks & other & ~all_pawns)
    total += term(data, SPACE) * popcount(ROWS_2_TO_4 & MIDDLE_FILES & ~pawns & ~enemy_pawn_attacks)
    # 2. The other pieces: placement, mobility, threats and attacks beside the enemy king. Each kind
    # has its own loop, because a branch on the kind cannot be predicted.
    safe = ~(pawns | kings & mine | enemy_pawn_attacks)
    king_ring = KING_ATTACKS[enemy_king]
    outposts = pawn_attacks & ROWS_4_TO_6 & ~below(enemy_pawn_attacks)
    rooks_and_queens = other & straights
    minor_targets = other & ~enemy_pawn_attacks & (knights | diagonals & ~straights)
    attacked = pawn_attacks | KING_ATTACKS[king]
    attacked_twice = pawn_attacks & KING_ATTACKS[king] | ((pawns & ~FILE_A) << SEVEN) & (
        (pawns & ~FILE_H) << NINE
    )
    attack_units: Any = np.int64(0)
    attackers_of_king: Any = np.int64(0)
    by_knights = ZERO
    pieces = mine & knights
    total += term(data, OUTPOST) * popcount(pieces & outposts)
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = KNIGHT_ATTACKS[square]
        attacked_twice |= attacked & targets
        attacked |= targets
        by_knights |= targets
        total += term(data, KNIGHT * 64 + square) + term(
            data, KNIGHT_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT) * popcount(targets & rooks_and_queens)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & minor_targets)
        attack_units += LIGHT_UNITS * popcount(targets & king_ring)
        attackers_of_king += np.int64(targets & king_ring != ZERO)
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
        attacked_twice |= attacked & targets
        attacked |= targets
        by_bishops |= targets
        total += term(data, BISHOP * 64 + square) + term(
            data, BISHOP_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT) * popcount(targets & rooks_and_queens)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & minor_targets)
        attack_units += LIGHT_UNITS * popcount(targets & king_ring)
        attackers_of_king += np.int64(targets & king_ring != ZERO)
    by_rooks = ZERO
    pieces = mine & straights & ~diagonals
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = straight_attacks(square, occupied)
        attacked_twice |= attacked & targets
        attacked |= targets
        by_rooks |= targets
        total += term(data, ROOK * 64 + square) + term(
            data, ROOK_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT + 1) * popcount(targets & rooks_and_queens & diagonals)
        total += term(data, PIECE_THREAT + 2) * popcount(targets & minor_targets)
        column = FILE_A << U(square & 7)
        if column & pawns == ZERO:
            total += term(data, OPEN_FILE + (1 if column & enemies else 0))
        attack_units += ROOK_UNITS * popcount(targets & king_ring)
        attackers_of_king += np.int64(targets & king_ring != ZERO)
    by_queens = ZERO
    pieces = mine & straights & diagonals
    while pieces:
        square = lsb(pieces)
        pieces &= pieces - ONE
        targets = diagonal_attacks(square, occupied) | straight_attacks(square, occupied)
        attacked_twice |= attacked & targets
        attacked |= targets
        by_queens |= targets
        total += term(data, QUEEN * 64 + square) + term(
            data, QUEEN_MOBILITY + popcount(targets & safe)
        )
        total += term(data, PIECE_THREAT + 2) * popcount(targets & minor_targets)
        attack_units += QUEEN_UNITS * popcount(targets & king_ring)
        attackers_of_king += 2 * np.int64(targets & king_ring != ZERO)
    # 3. King attack, which takes at least two pieces or a queen.
    if attackers_of_king > 1:
        total += term(data, ATTACK + min(attack_units, MAX_ATTACK_UNITS))
    # 4. Mop-up: drive a bare king to the edge and bring the own king near.
    if other == kings & other and mine & (straights | diagonals):
        centre = min(enemy_king & 7, 7 - (enemy_king & 7)) + min(
            enemy_king >> 3, 7 - (enemy_king >> 3)
        )
        total += term(data, BARE_KING) * (20 - 2 * centre - distance(king, enemy_king))
    return total, (by_knights, by_bishops, by_rooks, by_queens, attacked, attacked_twice)


@rule
def contact_terms(boards: Boards, attacks: Attacks, enemy_attacks: Attacks, data: Any) -> int:
    """The terms of one side that depend on the attacks of both sides."""
    mine, other, all_pawns, knights, diagonals, straights, kings = boards
    by_knights, by_bishops, by_rooks, by_queens, attacked, attacked_twice = attacks
    occupied = mine | other
    pawns, enemies = all_pawns & mine, all_pawns & other
    enemy_king = lsb(kings & other)
    defended, defended_twice = enemy_attacks[4], enemy_attacks[5]
    enemy_pawn_attacks = beside(enemies >> EIGHT)
    # 1. Safe checks, which no piece but the king could capture, and weak squares beside the king.
    defended_without_king = (
        enemy_attacks[0]
        | enemy_attacks[1]
        | enemy_attacks[2]
        | enemy_attacks[3]
        | enemy_pawn_attacks
    )
    weak = attacked & ~defended_without_king
    safe = ~mine & (~defended | weak & attacked_twice)
    straight_checks = straight_attacks(enemy_king, occupied) & safe
    diagonal_checks = diagonal_attacks(enemy_king, occupied) & safe
    if KNIGHT_ATTACKS[enemy_king] & by_knights & safe:
        total = term(data, SAFE_CHECK)
    else:
        total = NO_TERMS
    if diagonal_checks & by_bishops:
        total += term(data, SAFE_CHECK + 1)
    if straight_checks & by_rooks:
        total += term(data, SAFE_CHECK + 2)
    if (straight_checks | diagonal_checks) & by_queens:
        total += term(data, SAFE_CHECK + 3)
    total += term(data, WEAK_RING) * popcount(weak & KING_ATTACKS[enemy_king])
    # 2. Hanging pieces, safe pawn pushes that attack a piece, and squares contested by both sides.
    hanging = attacked & ~defended & other
    total += term(data, HANGING) * popcount(hanging & all_pawns)
    total += term(data, HANGING + 1) * popcount(hanging & ~all_pawns)
    pushes = (pawns << EIGHT) & ~occupied & ~enemy_pawn_attacks & (attacked | ~defended)
    total += term(data, PUSH_THREAT) * popcount(beside(pushes << EIGHT) & other & ~all_pawns)
    total += term(data, RESTRICTED) * popcount(
        defended & attacked & ~enemy_pawn_attacks & ~(defended_twice & ~attacked_twice)
    )
    # 3. Minor pieces behind a pawn; passed pawns with a safe path, and rooks behind them.
    minors = mine & (knights | diagonals & ~straights)
    total += term(data, SHIELDED) * popcount(minors & (all_pawns >> EIGHT))
    enemy_spans = below(enemies >> EIGHT)
    passed = pawns & ~(enemy_spans | beside(enemy_spans)) & ~below(pawns >> EIGHT)
    while passed:
        pawn = lowest(passed)
        passed ^= pawn
        if above(pawn << EIGHT) & (defended | other) == ZERO:
            total += term(data, SAFE_PASSED + (lsb(pawn) >> 3))
        if below(pawn >> EIGHT) & mine & straights & ~diagonals:
            total += term(data, ROOK_BEHIND)
    return int(total)


@rule
def endgame_scale(s: State, strong: np.uint64) -> int:
    """The scale of the score, at most SCALE, if the side with the pieces `strong` is ahead.

    It is small if that side has no pawns and little more material, and half with bishops of
    opposite colours.
    """
    weak = s[OWN] ^ s[THEIRS] ^ strong
    bishops = s[DIAGONALS] & ~s[STRAIGHTS]
    if not s[PAWNS] & strong:
        minors = s[KNIGHTS] | bishops
        lead = 3 * (popcount(minors & strong) - popcount(minors & weak))
        rooks, queens = s[STRAIGHTS] & ~s[DIAGONALS], s[STRAIGHTS] & s[DIAGONALS]
        lead += 5 * (popcount(rooks & strong) - popcount(rooks & weak))
        lead += 9 * (popcount(queens & strong) - popcount(queens & weak))
        if lead <= 3:
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
        mine = flipped(other)
    else:
        other = flipped(mine)
    total, attacks = own_terms(mine, data)
    enemy_total, enemy_attacks = own_terms(other, data)
    total += contact_terms(mine, attacks, flipped_attacks(enemy_attacks), data) - enemy_total
    total += term(data, TEMPO) - contact_terms(other, enemy_attacks, flipped_attacks(attacks), data)
    endgame = ((total + 32768) & 65535) - 32768
    middlegame = (total - endgame) >> 16
    phase = min(popcount(knights) + popcount(diagonals) + 2 * popcount(straights), FULL_PHASE)
    value = (middlegame * phase + endgame * (FULL_PHASE - phase)) // FULL_PHASE
    if phase < HALF_PHASE:
        value = value * endgame_scale(s, s[OWN] if value > 0 else s[THEIRS]) // SCALE
    return int(value)
