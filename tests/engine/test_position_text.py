"""engine/position_text.py: positions as people paste them are read as the standards say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.game import Position, PositionError
from engine.position_text import read_position
from engine.rules.registry import game_ids, load_game

HOME = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"
ROOK = "8/8/4k3/8/8/3RK3/8/8"
MEN = "W18,24,27,28,K10,K15:B12,16,20,K22,K25,K29"
E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR"
FULL_ROW = f"XXXXXXXO{'-' * 19}OO{'-' * 6}OO{'-' * 27}"
HANDS = "WWW/BBB/.../.../.../.../.../..."
DISCS = f"{'-' * 27}OX{'-' * 6}XO{'-' * 27}"

#: Texts by game, and the position in the game's own form, or a text of it.
READ = {
    "chess": {
        f"{HOME} w KQkq -": f"{HOME} w KQkq - 0 1",
        f"{HOME}": f"{HOME} w - - 0 1",
        f"{HOME} b": f"{HOME} b - - 0 1",
        f"{HOME} b KQkq": f"{HOME} b KQkq - 0 1",
        f" {HOME}  w  KQkq  -  0  1\n": f"{HOME} w KQkq - 0 1",
        f"{HOME}_w_KQkq_-_0_1": f"{HOME} w KQkq - 0 1",
        f"{HOME} w KQkq - 0 0": f"{HOME} w KQkq - 0 1",
        f"{HOME} w KQkq - 7": f"{HOME} w KQkq - 7 1",
        f"{HOME} w kqKQ - 0 1": f"{HOME} w KQkq - 0 1",
        f"{HOME} W qK - 0 1": f"{HOME} w Kq - 0 1",
        f"{HOME} w HAha - 0 1": f"{HOME} w KQkq - 0 1",
        f"{HOME} w KQkq e6 0 1": f"{HOME} w KQkq - 0 1",
        f'{HOME} w KQkq - bm e4; id "x 1";': f"{HOME} w KQkq - 0 1",
        "4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1": "4k3/8/8/8/8/8/8/4K2R w K - 0 1",
        f"{ROOK} w - - 00 012": f"{ROOK} w - - 0 12",
        f"{ROOK} w - - - -": f"{ROOK} w - - 0 1",
        f"{ROOK} w - - 100 90": f"{ROOK} w - - 100 90",
        f"{E4} b KQkq e3 0 1": f"{E4} b KQkq - 0 1",
        "4k3/8/8/8/1b2r3/3n4/8/4K3 w - - 0 1": "4k3/8/8/8/1b2r3/3n4/8/4K3 w - - 0 1",
        f"{ROOK} w - - \u0660 \u0662": f"{ROOK} w - - 0 2",
        "\uff18/8/4k3/8/8/3RK3/8/8 w - - 0 1": f"{ROOK} w - - 0 1",
    },
    "draughts": {
        f"B:{MEN}": f"B:{MEN}:H0",
        f"B:{MEN}.": f"B:{MEN}:H0",
        "B:W18, 24:B12, 16:H0": "B:W18,24:B12,16:H0",
        "b:w18,k24:b12,16": "B:W18,K24:B12,16:H0",
        "W:B12,16:W18,24": "W:W18,24:B12,16:H0",
        "B:W21,22,23:B1,2,3:H4:F1": "B:W21,22,23:B1,2,3:H4",
        "B:W18,24:B01,02:H0": "B:W18,24:B1,2:H0",
        "B:W:B1:H0": "B:W:B1:H0",
        "B:W21-32:B1-12": load_game("draughts").start().text(),
    },
    "international-draughts": {
        "W:W31,32,33:B1,2,3": "W:W31,32,33:B1,2,3:H0",
        "W:W31,32,33:B1,2,3:H0:F1": "W:W31,32,33:B1,2,3:H0",
        "W:WK31:BK1:H50": "W:WK31:BK1:H50",
        "W:W31-50:B1-20.": load_game("international-draughts").start().text(),
    },
    "othello": {
        f"{DISCS.replace('-', '.').lower()} x": f"{DISCS} X",
        f"{DISCS}X": f"{DISCS} X",
        f"{DISCS} X;": f"{DISCS} X",
        f"{DISCS.replace('X', '*')} O": f"{DISCS} O",
        f"{' '.join(DISCS)}\nO": f"{DISCS} O",
        f"{FULL_ROW} X": f"{FULL_ROW} X",
    },
    "kalah": {
        "\u0664-4-4-4-4-\u0664/\u0660 4-4-4-4-4-4/0 south": "4-4-4-4-4-4/0 4-4-4-4-4-4/0 south",
    },
    "nine-mens-morris": {
        f"{HANDS} white 6-6 0 flying": f"{HANDS} white 6-6 0 flying",
    },
}
#: Texts that are refused, and a part of the reason.
REFUSED = {
    "chess": {
        f"{HOME} w KQkq - ?": "six fields", f"{HOME} w KQkq - 0 x": "move number",
        f"{HOME} w Xx - 0 1": "castling", f"{HOME} w KQkq - 1 2 3": "six fields",
        f"{HOME} x KQkq - 0 1": "to move", "nonsense": "six fields",
        "4k3/8/8/8/8/8/8/8 w": "king", f"{HOME}[] w KQkq - 0 1": "rank 1",
        "44/8/4k3/8/8/3RK3/8/8 w - - 0 1": "rank 8",
        f"{ROOK} w - - 151 190": "0 to 150", f"{ROOK} w - - 999999 1": "0 to 150",
        "8/8/8/3kK3/8/8/8/8 w - - 0 1": "not to move is in check",
        "4k3/QQQQQQQQ/Q7/8/8/8/PPPPPPPP/4K3 b - - 0 1": "eight pawns can become",
    },
    "connect-four": {"4455": "six rows of seven"},
    "draughts": {"B:W18:B18": "two pieces", "B:W33:B1": "squares are 1 to 32", "B:W5-1:B9": "5-1",
                 "B:W1:W2": "expected", "B:W18": "expected"},
    "othello": {DISCS: "64 characters", f"{DISCS} Z": "64 characters"},
}  # fmt: skip


@pytest.mark.parametrize("game_id", READ)
def test_positions_are_read_as_people_have_them(game_id: str) -> None:
    """What a text leaves out is as in the standards."""
    game = load_game(game_id)
    for text, strict in READ[game_id].items():
        assert read_position(game, text) == game.position(strict), text


@pytest.mark.parametrize("game_id", REFUSED)
def test_what_is_no_position_is_refused(game_id: str) -> None:
    """The message says what was expected."""
    for text, reason in REFUSED[game_id].items():
        with pytest.raises(PositionError, match=reason):
            read_position(load_game(game_id), text)


@given(
    st.sampled_from(game_ids()),
    st.text(max_size=80) | st.text("wWbBKQkq18/-:,XO. \u0661", max_size=80),
)
def test_any_text_is_a_position_or_refused(game_id: str, text: str) -> None:
    """No text raises another error, and a position is read back."""
    game = load_game(game_id)
    try:
        position: Position = read_position(game, text)
    except PositionError:
        return
    assert game.position(position.text()) == position
