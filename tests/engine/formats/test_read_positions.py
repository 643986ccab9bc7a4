"""engine/formats/read/positions.py: positions as people paste them, read as the standards say."""

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.formats.read.positions import read_position
from engine.game import Position, PositionError
from engine.rules.registry import game_ids, load_game

HOME = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"
ROOK = "8/8/4k3/8/8/3RK3/8/8"
MEN = "W18,24,27,28,K10,K15:B12,16,20,K22,K25,K29"
E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR"
FULL_ROW = f"XXXXXXXO{'-' * 19}OO{'-' * 6}OO{'-' * 27}"
HANDS = "WWW/BBB/.../.../.../.../.../..."
DISCS = f"{'-' * 27}OX{'-' * 6}XO{'-' * 27}"

#: Texts by game, and the position in the game's own form, or a text of it.
READ: dict[str, dict[str, str | Position]] = {
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
        f"{E4} b KQkq e3 0 1": f"{E4} b KQkq - 0 1",
        f'{HOME} w KQkq - bm e4; id "x 1";': f"{HOME} w KQkq - 0 1",
        "4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1": "4k3/8/8/8/8/8/8/4K2R w K - 0 1",
        f"{ROOK} w - - 00 012": f"{ROOK} w - - 0 12",
        f"{ROOK} w - - - -": f"{ROOK} w - - 0 1",
        f"{ROOK} w - - \u0660 \u0662": f"{ROOK} w - - 0 2",
        "\uff18/8/4k3/8/8/3RK3/8/8 w - - 0 1": f"{ROOK} w - - 0 1",
        f"{HOME}\u00a0w\u2007KQkq\u202f-  0 1\u200b": f"{HOME} w KQkq - 0 1",
        f"{ROOK} w - - 151 190": f"{ROOK} w - - 150 190",
        f"{ROOK} w - - 999999 1": f"{ROOK} w - - 150 1",
        f"{ROOK} w - - bm Rd8; hmvc 7; fmvn 41;": f"{ROOK} w - - 7 41",
        f'{ROOK} w - - 3 40 id "WAC.001"; bm Rd8;': f"{ROOK} w - - 3 40",
        f'[FEN "{ROOK} w - - 3 40"]': f"{ROOK} w - - 3 40",
        f"position fen {ROOK} b - - 3 40": f"{ROOK} b - - 3 40",
        "4k3/8/8/8/1b2r3/3n4/8/4K3 w - - 0 1": "4k3/8/8/8/1b2r3/3n4/8/4K3 w - - 0 1",
    },
    "draughts": {
        f"B:{MEN}": f"B:{MEN}:H0",
        f"B:{MEN}.": f"B:{MEN}:H0",
        "B:W18, 24:B12, 16:H0": "B:W18,24:B12,16:H0",
        "b:w18,k24:b12,16": "B:W18,K24:B12,16:H0",
        "W:B12,16:W18,24": "W:W18,24:B12,16:H0",
        "B:W21,22,23:B1,2,3:H4:F1": "B:W21,22,23:B1,2,3:H4",
        "B:W18,24:B01,02:H0": "B:W18,24:B1,2:H0",
        "B:W21-32:B1-12": load_game("draughts").start().text(),
        "B:W21-24,25-32:B1-4:B5-12": load_game("draughts").start().text(),
        "?:W21-32:B1-12": load_game("draughts").start().text(),
        "W:Wa1,c1,Kb8:Bd8,h8": "W:W29,30,K1:B2,4:H0",
        "W:WK1-3,30:B12:+0+0": "W:WK1,K2,K3,30:B12:H0",
        "W:W:B1": "W:W:B1:H0",
        "W:W30:B12:H99": "W:W30:B12:H80",
    },
    "international-draughts": {
        "W:W31,32,33:B1,2,3": "W:W31,32,33:B1,2,3:H0",
        "W:W31,32,33:B1,2,3:H0:F1": "W:W31,32,33:B1,2,3:H0",
        "W:W31-50:B1-20.": load_game("international-draughts").start().text(),
        "W:WK31:BK1:H120:F77": "W:WK31:BK1:H50",
        "?:W31-50:B1-20": load_game("international-draughts").start().text(),
    },
    "othello": {
        f"{DISCS.replace('-', '.').lower()} x": f"{DISCS} X",
        f"{DISCS}X": f"{DISCS} X",
        f"{DISCS} X;": f"{DISCS} X",
        f"{DISCS.replace('X', '*')} O": f"{DISCS} O",
        f"{' '.join(DISCS)}\nO": f"{DISCS} O",
        f"{FULL_ROW} X": f"{FULL_ROW} X",
        f"{DISCS}\nBLACK\n% a problem": f"{DISCS} X",
        f"{DISCS} O; F5:+1; D6:-3;": f"{DISCS} O",
        "F5d6c3": load_game("othello")
        .position(f"{DISCS} X")
        .replay("f5")
        .replay("d6")
        .replay("c3"),
        "f5 d6 c3": load_game("othello").start().replay("f5").replay("d6").replay("c3"),
    },
    "connect-four": {
        "4455": f"{'......./' * 4}...YY../...RR..",
        "d, d, e, e": f"{'......./' * 4}...YY../...RR..",
    },
    "nine-mens-morris": {
        f"{HANDS} white 6-6 0 flying": f"{HANDS} white 6-6 0 flying",
    },
    "gomoku": {"h8i9": load_game("gomoku").start().replay("h8").replay("i9")},
    "kalah": {"\u0664-\u0664-4-4-4-4/0 4-4-4-4-4-4/0 south": load_game("kalah").start().text()},
}
#: Texts that are refused, and a part of the reason.
REFUSED = {
    "chess": {
        f"{HOME} w KQkq - ?": "six fields", f"{HOME} w KQkq - 0 x": "move number",
        f"{HOME} w Xx - 0 1": "castling", f"{HOME} w KQkq - 1 2 3": "six fields",
        f"{HOME} x KQkq - 0 1": "to move", "nonsense": "six fields",
        "4k3/8/8/8/8/8/8/8 w": "king", f"{HOME}[] w KQkq - 0 1": "rank 1",
        "44/8/4k3/8/8/3RK3/8/8 w - - 0 1": "rank 8",
        "8/8/8/3kK3/8/8/8/8 w - - 0 1": "not to move is in check",
        "4k3/QQQQQQQQ/Q7/8/8/8/PPPPPPPP/4K3 b - - 0 1": "than eight pawns can become",
        f"{HOME} w KQkq x 0 1": "en passant square", "e4 e5": "six fields",
    },
    "draughts": {"B:W18:B18": "two pieces", "B:W33:B1": "squares are 1 to 32", "B:W5-1:B9": "5-1",
                 "B:W1:W2": "expected", "B:W18": "expected", "B:W1:B9:X3": "expected",
                 "B:WG12:B1": "expected", "B:Wa2:B1": "expected"},
    "othello": {DISCS: "64 characters", f"{DISCS} Z": "64 characters",
                f"{DISCS} XX": "64 characters", "f5f5": "move 2 of the list, f5"},
    "connect-four": {"44444444": "move 7 of the list, 4", "49": "move 2 of the"},
}  # fmt: skip


@pytest.mark.parametrize("game_id", READ)
def test_positions_are_read_as_people_have_them(game_id: str) -> None:
    """What a text leaves out is as in the standards."""
    game = load_game(game_id)
    for text, strict in READ[game_id].items():
        wanted = game.position(strict) if isinstance(strict, str) else strict
        assert read_position(game, text).position == wanted, text


@pytest.mark.parametrize("game_id", REFUSED)
def test_what_is_no_position_is_refused(game_id: str) -> None:
    """The message says what was expected."""
    for text, reason in REFUSED[game_id].items():
        with pytest.raises(PositionError, match=reason):
            read_position(load_game(game_id), text)


#: What is put right by game and text.
MENDED = {
    ("chess", "4k3/8/8/8/8/8/8/4K2R w KQk - 0 1"): (
        "castling right Q dropped: no rook on a1", "castling right k dropped: no rook on h8",
    ),
    ("chess", "8/4k3/8/8/8/8/8/4K2R w Hh - 0 1"): ("castling right h dropped: no king on e8",),
    ("chess", f"{HOME} w KQkq e6 151 0"): (
        "halfmove clock 151 lowered to 150", "move number 0 raised to 1",
        "en passant e6 dropped: no pawn can just have passed it",
    ),
    ("chess", HOME): ("side to move not given: White",),
    ("chess", f" {HOME}  b KQkq -"): (),
    ("draughts", "?:W21-32:B1-12"): ("side to move not known: Black, who begins",),
    ("draughts", "W:Wa1:Bd8"): ("squares named as in chess: a1 is at White's left",),
    ("international-draughts", "W:WK31:BK1:H51"): (
        "plies without a capture or a man's move: 51 lowered to 50",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("game_id", "text"), MENDED)
def test_what_was_put_right_is_said(game_id: str, text: str) -> None:
    """Each correction is a sentence; what a standard leaves open is none."""
    assert read_position(load_game(game_id), text).mended == MENDED[game_id, text]


@given(st.data())
def test_fens_are_read_as_python_chess_reads_them(data: st.DataObject) -> None:
    """A FEN with fields left out, other rights, any en passant square and other counters."""
    board = chess.Board()
    for choice in data.draw(st.lists(st.integers(0, 300), max_size=30)):
        if moves := list(board.legal_moves):
            board.push(moves[choice % len(moves)])
    white, black = (
        "".join(data.draw(st.lists(st.sampled_from(letters), unique=True, max_size=2)))
        for letters in (data.draw(st.sampled_from(("KQ", "HA"))), "kq")
    )
    rights = white + black
    rank = "6" if board.turn else "3"
    passed = data.draw(st.sampled_from("abcdefgh")) + rank
    passed = data.draw(st.sampled_from(("-", passed)))
    fields = [
        board.board_fen(), "wb"[not board.turn], rights or "-", passed,
        str(data.draw(st.integers(0, 150))), str(data.draw(st.integers(0, 999))),
    ]  # fmt: skip
    text = " ".join(fields[: data.draw(st.integers(1, 6))])
    peer = chess.Board(text)
    if peer.was_into_check():  # the text has another side to move
        return
    read = read_position(load_game("chess"), text).position
    peer.castling_rights = peer.clean_castling_rights()
    assert read.text() == peer.fen(en_passant="legal")


@given(
    st.sampled_from(game_ids()),
    st.text(max_size=80) | st.text("wWbBKQkq18/-:,XO. \u0661", max_size=80),
)
def test_any_text_is_a_position_or_refused(game_id: str, text: str) -> None:
    """No text raises another error, and a position is read back."""
    game = load_game(game_id)
    try:
        position = read_position(game, text).position
    except PositionError:
        return
    assert game.position(position.text()) == position
