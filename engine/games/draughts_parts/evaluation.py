"""The tapered evaluation of draughts, interpolated by the number of pieces left."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.draughts_parts.board import (
    BOARD,
    FAR,
    NEAR,
    ONE,
    ROW_BITS,
    SQUARE_BITS,
    ZERO,
    downward,
    jumpers,
    upward,
)
from engine.jit import U, at, popcount, rule

#: The mask of two rows.
EIGHT_SQUARES = U(0xFF)
#: Masks for `reversed_board`.
SWAP_1, SWAP_2, SWAP_4 = U(0x5555555555555555), U(0x3333333333333333), U(0x0F0F0F0F0F0F0F0F)
SWAP_8, SWAP_16 = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)
#: The eight squares in the middle.
CENTRE = U(sum(1 << SQUARE_BITS[number - 1] for number in (10, 11, 14, 15, 18, 19, 22, 23)))
#: The squares of rows 1, 3, 5 and 7, which decide the opposition.
ODD_ROWS = U(sum(ROW_BITS[::2]))

# Offsets of the weights in data/draughts.txt: first a weight for each set of men in each of four
# pairs of rows, as their owner sees them, then the OTHER_WEIGHTS. A tapered weight is a
# pair: OPENING applies with 24 pieces on the board, ENDGAME with none.
MEN_OPENING, MEN_ENDGAME, OTHER_WEIGHTS = 0, 1024, 2048
KING_OPENING, KING_ENDGAME, CENTRE_OPENING, CENTRE_ENDGAME, TRAPPED, ONLY_KINGS = range(
    OTHER_WEIGHTS, OTHER_WEIGHTS + 6
)
MOBILITY_OPENING, MOBILITY_ENDGAME, THREAT_OPENING, THREAT_ENDGAME = range(
    OTHER_WEIGHTS + 6, OTHER_WEIGHTS + 10
)
TURN_OPENING, TURN_ENDGAME, HAS_OPPOSITION, TO_CAPTURE = range(
    OTHER_WEIGHTS + 10, OTHER_WEIGHTS + 14
)


@rule
def reversed_board(pieces: np.uint64) -> np.uint64:
    """The pieces as the other side sees them: the board rotated by 180 degrees."""
    x = ((pieces >> U(1)) & SWAP_1) | ((pieces & SWAP_1) << U(1))
    x = ((x >> U(2)) & SWAP_2) | ((x & SWAP_2) << U(2))
    x = ((x >> U(4)) & SWAP_4) | ((x & SWAP_4) << U(4))
    x = ((x >> U(8)) & SWAP_8) | ((x & SWAP_8) << U(8))
    x = ((x >> U(16)) & SWAP_16) | ((x & SWAP_16) << U(16))
    return ((x >> U(32)) | (x << U(32))) >> U(29)


@rule
def men_value(men: np.uint64, data: Any) -> int:
    """The value of the men as sets in pairs of rows; `men` is seen from their owner's side."""
    a = np.int64(men & EIGHT_SQUARES)
    b = 256 + np.int64((men >> U(9)) & EIGHT_SQUARES)
    c = 512 + np.int64((men >> U(18)) & EIGHT_SQUARES)
    d = 768 + np.int64((men >> U(27)) & EIGHT_SQUARES)
    return int(data[a] + data[b] + data[c] + data[d])


@rule
def free_neighbours(pieces: np.uint64, free: np.uint64) -> np.uint64:
    """The pieces that have a free square beside them."""
    return pieces & ((free >> NEAR) | (free >> FAR) | (free << NEAR) | (free << FAR))


@rule
def evaluate(s: State, data: Any) -> int:
    is_white = (s[3] & ONE) != ZERO
    mine, other, kings = s[0], s[1], s[2]
    free = BOARD & ~(mine | other)
    count = popcount(mine | other)

    # 1. Men by their places, as their owner sees them.
    if is_white:
        my_men, their_men = reversed_board(mine & ~kings), other & ~kings
    else:
        my_men, their_men = mine & ~kings, reversed_board(other & ~kings)
    opening = men_value(my_men, data) - men_value(their_men, data)
    endgame = men_value(my_men, at(data, MEN_ENDGAME)) - men_value(their_men, at(data, MEN_ENDGAME))

    # 2. Kings.
    if kings:
        my_kings, their_kings = mine & kings, other & kings
        more_kings = popcount(my_kings) - popcount(their_kings)
        central = popcount(my_kings & CENTRE) - popcount(their_kings & CENTRE)
        opening += more_kings * data[KING_OPENING] + central * data[CENTRE_OPENING]
        endgame += more_kings * data[KING_ENDGAME] + central * data[CENTRE_ENDGAME]
        stuck_kings = popcount(their_kings & ~free_neighbours(their_kings, free))
        stuck_kings -= popcount(my_kings & ~free_neighbours(my_kings, free))
        value = stuck_kings * data[TRAPPED]
        if their_kings == ZERO:
            value += data[ONLY_KINGS]
        elif my_kings == ZERO:
            value -= data[ONLY_KINGS]
        opening += value
        endgame += value

    # 3. Mobility, the threats of the other side, and the tempo. A side to move that can capture is
    # about to win a man: the search resolves that, but a search of one ply needs the bonus.
    passed = (other, mine, kings, s[3] ^ ONE)
    down, up = downward(s), upward(s)
    mobility = popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    mobility += popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)
    down, up = downward(passed), upward(passed)
    mobility -= popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    mobility -= popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)
    threats = popcount(jumpers(passed))
    opening += (
        mobility * data[MOBILITY_OPENING] + threats * data[THREAT_OPENING] + data[TURN_OPENING]
    )
    endgame += (
        mobility * data[MOBILITY_ENDGAME] + threats * data[THREAT_ENDGAME] + data[TURN_ENDGAME]
    )
    if jumpers(s):
        opening += data[TO_CAPTURE]
        endgame += data[TO_CAPTURE]

    # 4. The opposition ("the move"), with equal numbers of pieces.
    if popcount(mine) == popcount(other):
        system = BOARD & ~ODD_ROWS if is_white else ODD_ROWS
        endgame += (
            data[HAS_OPPOSITION] if popcount((mine | other) & system) & 1 else -data[HAS_OPPOSITION]
        )
    return int((opening * count + endgame * (24 - count)) // 24)
