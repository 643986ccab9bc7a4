"""The tapered evaluation of international draughts, interpolated by the number of pieces left."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.international_draughts_parts.board import ONE, SQUARE_BITS, ZERO
from engine.games.international_draughts_parts.movement import (
    adjacent_capturers,
    pieces_against_lone_king,
    steps_of_men,
    unstable,
)
from engine.jit import U, at, popcount, rule

#: The squares of the main diagonal.
DIAGONAL = U(
    sum(1 << SQUARE_BITS[number - 1] for number in (5, 10, 14, 19, 23, 28, 32, 37, 41, 46))
)
#: The two columns at the left edge.
LEFT_WING = U(sum(1 << SQUARE_BITS[5 * row + x] for row in range(10) for x in (0, 1)))
#: The two columns at the right edge.
RIGHT_WING = U(sum(1 << SQUARE_BITS[5 * row + x] for row in range(10) for x in (3, 4)))

# Offsets of the weights in the game's data: first a weight for each set of men in each pair of
# rows; then, for each of eight regions of eight squares, one for each arrangement of both sides'
# men. Rows and regions are counted from the owner's side; the regions cover the first six rows.
# Then come weights by the difference between the men on the two wings, and the rest. A tapered
# weight is a pair: OPENING applies with 40 pieces on the board, ENDGAME with none.
SETS, ARRANGEMENTS, REGIONS = 1024, 3**8, 8
MEN_OPENING, MEN_ENDGAME, REGION, BALANCE = (
    0,
    5 * SETS,
    10 * SETS,
    10 * SETS + REGIONS * ARRANGEMENTS,
)
OTHER_WEIGHTS = BALANCE + 16
KING_OPENING, KING_ENDGAME, DIAGONAL_KING, ONLY_KINGS, THREAT_OPENING, THREAT_ENDGAME = range(
    OTHER_WEIGHTS, OTHER_WEIGHTS + 6
)
MOBILITY_OPENING, MOBILITY_ENDGAME, TURN_OPENING, TURN_ENDGAME, TO_CAPTURE = range(
    OTHER_WEIGHTS + 6, OTHER_WEIGHTS + 11
)
#: A region of eight squares: four neighbouring columns in two pairs of rows.
FOUR_COLUMNS = U(0b1100011 | 0b1100011 << 11)
#: For each set of eight squares, given as bits: the base-3 number with the same digits.
TERNARY = np.array([sum(3**i for i in range(8) if squares >> i & 1) for squares in range(256)])
#: Masks for `reversed_board`.
SWAP_1, SWAP_2, SWAP_4 = U(0x5555555555555555), U(0x3333333333333333), U(0x0F0F0F0F0F0F0F0F)
SWAP_8, SWAP_16 = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)


@rule
def reversed_board(pieces: np.uint64) -> np.uint64:
    """The pieces as the other side sees them: the board rotated by 180 degrees."""
    x = ((pieces >> U(1)) & SWAP_1) | ((pieces & SWAP_1) << U(1))
    x = ((x >> U(2)) & SWAP_2) | ((x & SWAP_2) << U(2))
    x = ((x >> U(4)) & SWAP_4) | ((x & SWAP_4) << U(4))
    x = ((x >> U(8)) & SWAP_8) | ((x & SWAP_8) << U(8))
    x = ((x >> U(16)) & SWAP_16) | ((x & SWAP_16) << U(16))
    return ((x >> U(32)) | (x << U(32))) >> U(10)


@rule
def sets_value(men: np.uint64, data: Any) -> int:
    """The value of the men as sets in pairs of rows, with the board seen from their side."""
    total = 0
    for i in range(5):
        total += data[SETS * i + np.int64((men >> U(11 * i)) & U(SETS - 1))]
    return int(total)


@rule
def region_men(men: np.uint64, corner: int) -> np.int64:
    """The men in the region that begins at bit `corner`, as eight bits."""
    x = (men >> U(corner)) & FOUR_COLUMNS
    x |= x >> U(3)
    return np.int64((x & U(15)) | ((x >> U(7)) & U(240)))


@rule
def regions_value(men: np.uint64, other: np.uint64, data: Any) -> int:
    """The value of the regions to the owner of `men`, from whose side both bitboards are seen."""
    total = 0
    for row in range(2):
        for column in range(4):
            corner = 11 * row + column
            arrangement = TERNARY[region_men(men, corner)] + 2 * TERNARY[region_men(other, corner)]
            total += data[REGION + ARRANGEMENTS * (4 * row + column) + arrangement]
    return int(total)


@rule
def wing_difference(men: np.uint64) -> int:
    """The difference between the numbers of men on the two wings."""
    return abs(popcount(men & LEFT_WING) - popcount(men & RIGHT_WING))


@rule
def evaluate(s: State, data: Any) -> int:
    mine, other, kings = s[0], s[1], s[2]
    count = popcount(mine | other)

    # 1. Men by their squares, as each side sees them from its own edge of the board.
    my_men, their_men = mine & ~kings, other & ~kings
    if (s[3] & ONE) == ZERO:
        my_men_seen, their_men_by_me = reversed_board(my_men), reversed_board(their_men)
        my_men_by_them, their_men_seen = my_men, their_men
    else:
        my_men_seen, their_men_by_me = my_men, their_men
        my_men_by_them, their_men_seen = reversed_board(my_men), reversed_board(their_men)
    opening = sets_value(my_men_seen, data) - sets_value(their_men_seen, data)
    endgame = sets_value(my_men_seen, at(data, MEN_ENDGAME)) - sets_value(
        their_men_seen, at(data, MEN_ENDGAME)
    )
    value = regions_value(my_men_seen, their_men_by_me, data) - regions_value(
        their_men_seen, my_men_by_them, data
    )
    value += data[BALANCE + wing_difference(my_men)] - data[BALANCE + wing_difference(their_men)]

    # 2. Kings.
    if kings:
        my_kings, their_kings = mine & kings, other & kings
        more_kings = popcount(my_kings) - popcount(their_kings)
        opening += more_kings * data[KING_OPENING]
        endgame += more_kings * data[KING_ENDGAME]
        value += (popcount(my_kings & DIAGONAL) - popcount(their_kings & DIAGONAL)) * data[
            DIAGONAL_KING
        ]
        if their_kings == ZERO:
            value += data[ONLY_KINGS]
        elif my_kings == ZERO:
            value -= data[ONLY_KINGS]

    # 3. Mobility of men, the threats of the other side, and the tempo. A side to move that can
    # capture is about to win a man: the search resolves that, but a search of one ply needs the
    # bonus.
    passed = (other, mine, kings, s[3] ^ ONE)
    mobility = popcount(steps_of_men(s, False)) + popcount(steps_of_men(s, True))
    mobility -= popcount(steps_of_men(passed, False)) + popcount(steps_of_men(passed, True))
    threats = popcount(adjacent_capturers(passed))
    opening += (
        mobility * data[MOBILITY_OPENING] + threats * data[THREAT_OPENING] + data[TURN_OPENING]
    )
    endgame += (
        mobility * data[MOBILITY_ENDGAME] + threats * data[THREAT_ENDGAME] + data[TURN_ENDGAME]
    )
    if unstable(s):
        value += data[TO_CAPTURE]

    # 4. At most three pieces hardly ever catch a lone king, so the value is scaled down.
    value += (opening * count + endgame * (40 - count)) // 40
    if count <= 4 and (
        pieces_against_lone_king(mine, other, kings) or pieces_against_lone_king(other, mine, kings)
    ):
        return int(value // 10)
    return int(value)
