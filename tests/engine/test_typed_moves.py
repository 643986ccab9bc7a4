"""engine/typed_moves.py: moves that people write are read as they were meant, or are questions."""

import random
from collections.abc import Callable

import pytest

from engine.game import GameError, IllegalMove, MalformedMove, Position
from engine.rules.registry import game_ids, load_game
from engine.typed_moves import AmbiguousMove, read_move

#: Positions by a short name: the game, and the text of the position or "" for its start.
POSITIONS = {
    "bishop on e2": (
        "chess",
        "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/8/PPPPBPPP/RNBQK1NR w KQkq - 2 3",
    ),
    "start": ("chess", ""),
    "castling": ("chess", "r3k2r/1P4P1/8/8/8/8/8/R3K2R w KQkq - 0 1"),
    "b pawn and bishop": ("chess", "4k3/8/8/2p5/1P6/4B3/8/4K3 w - - 0 1"),
    "bishop alone": ("chess", "4k3/8/8/2p5/8/B3P3/8/4K3 w - - 0 1"),
    "b pawn alone": ("chess", "4k3/8/8/2p5/1P6/B7/8/4K3 w - - 0 1"),
    "en passant": ("chess", "4k3/8/8/3pP3/8/8/8/N3K1N1 w - d6 0 1"),
    "two knights": ("chess", "4k3/8/8/8/8/2N5/8/4K1N1 w - - 0 1"),
    "queen and d pawn": ("chess", "4k3/8/8/3p4/4P3/8/4Q3/3QK3 w - - 0 1"),
    "b2 and d2": ("chess", "4k3/8/8/8/8/2p5/1P1B4/4K3 w - - 0 1"),
    "c4 and bishop": ("chess", "4k3/8/8/3p4/2P1B3/8/8/4K3 w - - 0 1"),
    "check": ("chess", "4k3/8/8/8/8/8/4r3/R3K3 w Q - 0 1"),
    "draughts": ("draughts", ""),
    "jumps": ("draughts", "W:W22,K27:B18,11,24:H0"),
    "two jumps": ("draughts", "W:W22:B18,17,10,9:H0"),
    "othello": ("othello", ""),
    "hex": ("hex", ""),
    "gomoku": ("gomoku", ""),
    "connect four": ("connect-four", ""),
    "tic-tac-toe": ("tic-tac-toe", ""),
    "kalah": ("kalah", ""),
    "morris": ("nine-mens-morris", ""),
    "mill": ("nine-mens-morris", "WW./W../.../..B/B../B../.../... white 0-0 0 flying"),
    "dots": ("dots-and-boxes", ""),
    "sticks": ("sticks", ""),
    "breakthrough": ("breakthrough", ""),
    "friends": ("coin-friends", ""),
    "signs": ("rock-paper-scissors", ""),
}


def position_of(name: str) -> Position:
    game_id, text = POSITIONS[name]
    game = load_game(game_id)
    return game.position(text) if text else game.start()


#: What people type, and the token that they mean.
MEANT: dict[str, dict[str, tuple[str, ...]]] = {
    "start": {
        "e2e4": ("E2E4", "E4", "e4 ", " e4", "1. e4", "1.e4", "1...e4", "1\u2026e4", "1 e4",
                 "1) e4", "12. e4", "e2 e4", "e2-e4", "e2\u2013e4", "e2\u2014e4", "e2\u2212e4",
                 "e4!", "e4?!", "e4!!", "e4+", "e4.", "e4,", "e4 $1", "e4 {best by test}", "{x} e4",
                 "e4 ; a remark",
                 "♙e4", "♟e4", "♙e2-e4", "Pe4", "pe4", "\uff45\uff14", "\uff25\uff14",
                 "\u00a0e4\u00a0", "\u200ee4\u200b", "\ufeffe4", "4e", "e4 (=)",
                 "pawn e4", "Pawn to e4", "e2 to e4", "\u0435\u0034", "\u04152-\u04154",
                 "e2\u2192e4", "e4\u25a1", "e4 \u2a72"),
        "c2c4": ("\u04414", "c2-\u04414"),
        "a2a4": ("\u04304", "\u0430\u0032\u0430\u0034"),
        "g1f3": ("nf3", "NF3", "N f3", "Nf3!", "ng1f3", "NG1F3", "Ng1-f3", "♘f3", "♞f3",
                 "♘\ufe0ef3", "Sf3", "sf3", "Cf3", "Jf3", "S g1-f3", "\u041af3", "\u043af3",
                 "1.Nf3", "1. sf3", "knight f3", "Knight to F3"),
    },
    "castling": {
        "e1g1": ("o-o", "0-0", "O\u2013O", "o\u2212o", "0\u20140", "oo", "OO", "00", "o o", "O-O!",
                 "0-0+", "O-0", "\u041e-\u041e", "e1h1", "E1H1", "Kg1", "kg1", "Ke1g1", "Ke1-g1",
                 "1. O-O", "e1-g1", "0 - 0", "O \u2013 O", "castle kingside", "Castles short",
                 "short castling", "king-side castle",
                 "5. castle kingside", "5 castle kingside", "castle king's side!", "1.short"),
        "e1c1": ("o-o-o", "0-0-0", "O\u2013O\u2013O", "ooo", "000", "o o o", "e1a1", "Kc1",
                 "0-0-0#", "0 - 0 - 0", "castles queenside", "long castle!",
                 "queen's side", "12... castle queen\u2019s side."),
        "b7a8q": ("bxa8=q", "bxa8q", "bxa8=Q+", "bxa8(Q)", "bxa8/Q", "BXA8=Q", "ba8=Q", "ba8q",
                  "b7a8Q", "b7xa8=Q", "bxa8=D", "bxa8D", "bxa=Q", "b7:a8Q", "b\u00d7a8=Q"),
        "b7b8n": ("b8=n", "b8N", "b8n", "b8=C", "b8=knight", "b8 knight"),
    },
    "b pawn and bishop": {"b4c5": ("bxc5", "b4xc5", "bxc5!"),
                          "e3c5": ("Bxc5", "Bc5", "Lxc5", "lc5")},
    "bishop alone": {"a3c5": ("bxc5", "bc5", "BXC5", "Bc5", "Ba3xc5", "B:c5", "Lxc5", "Fxc5")},
    "b pawn alone": {"b4c5": ("BXC5", "bc5", "bxc", "bc", "b:c5", "b4c5")},
    "en passant": {
        "e5d6": ("exd6e.p.", "exd6 e.p.", "exd6ep", "exd6 ep!", "ed6", "ed", "e5xd6", "EXD6"),
        "a1b3": ("nb3", "Nb3"),
        "g1e2": ("Ne2+", "Ne2 ch", "Ne2 mate", "Ne2\u2020", "ne2++"),
    },
    "two knights": {"g1e2": ("Nge2", "nge2", "Sge2", "N1e2", "Ng1e2"), "c3e2": ("Nce2", "sce2")},
    "queen and d pawn": {"d1d5": ("queen takes d5", "Qxd5", "qd5", "Dxd5", "Dd5"),
                         "e4d5": ("exd5", "ed")},
    "b2 and d2": {"b2c3": ("bxc3", "b2c3"), "d2c3": ("Bxc3", "Bc3", "Bdxc3")},
    "bishop on e2": {
        "c2c4": ("\u04412\u04414", "\u04412-\u04414", "\u04212\u04214", "\u04212\u04414", "C2-c4"),
        "e2c4": ("\u0421\u04414", "\u0421c4", "Bc4", "B2c4"),
        "e2f3": ("\u0441f3",),
    },
    "c4 and bishop": {"e4d5": ("\u0421e4-d5", "Bxd5"), "c4d5": ("\u04414d5", "cxd5")},
    "draughts": {
        "11-15": ("11 to 15", "11-15", "11 15", "11x15", "11:15", "11\u201315", "11,15", "11.15",
                  "11/15", "11*15", "1. 11-15", "1.11-15", "11-15!", "11-15*", "\uff11\uff11-15"),
        "9-14": ("09-14", "09 14", "9-014"),
    },
    "jumps": {"22x15x8": ("22x8", "22-8", "22 8", "22:8", "22x15x8", "22-15-8", "22 15 8",
                          "22\u00d78")},
    "two jumps": {"22x15x6": ("22x15x6", "22 15 6"), "22x13x6": ("22-13-6",)},
    "othello": {"d3": ("D3", "d 3", "d-3", "3d", "3D", "D3!", "1. d3", "1 d3", "\uff443")},
    "hex": {"a1": ("A1", "a 1", "1a"), "k11": ("K11", "k-11", "11k")},
    "gomoku": {"h8": ("H8", "h-8", "8h"), "l4": ("L4", "l 4", "4L"), "b1": ("B1", "1. B1")},
    "connect four": {"d": ("D", "4", "4.", "d!", "1. d", "d1", "D1"), "a": ("1", "A")},
    "tic-tac-toe": {"b2": ("B2", "b 2", "2b", "5"), "a1": ("A1", "a-1")},
    "kalah": {"c1": ("C1", "c 1", "1c")},
    "morris": {"d2": ("D2", "d 2", "2d")},
    "dots": {"a1b1": ("A1B1", "a1-b1", "a1 b1", "b1a1", "b1-a1"), "a1a2": ("a2 a1",)},
    "sticks": {"3x2": ("3X2", "3 2", "3-2", "3,2", "3.2", "3\u00d72")},
    "breakthrough": {"a2a3": ("a2-a3", "A2A3", "a2 a3"), "a2b3": ("a2xb3", "a2:b3", "axb3", "ab3")},
    "friends": {"one": ("One", "ONE ", "o")},
    "signs": {"rock": ("Rock", "r", "ROCK!")},
}  # fmt: skip


@pytest.mark.parametrize("name", MEANT)
def test_moves_are_read_as_they_are_meant(name: str) -> None:
    """Each text is the one move that people mean by it."""
    position = position_of(name)
    for token, texts in MEANT[name].items():
        read = {text: read_move(position, text).token for text in texts}
        assert read == dict.fromkeys(texts, token)


#: Texts that may be several moves, or are not clear, and the moves that the message names.
QUESTIONS = {
    "start": {"e": "e3, e4", "n": "Na3, Nc3, Nf3, Nh3", "d2": "d3, d4"},
    "castling": {"b8": "b8=Q, b8=R, b8=B, b8=N", "b7b8": "b8=Q, b8=R, b8=B, b8=N",
                 "bxa": "bxa8=Q, bxa8=R", "b8S": "b8=B, b8=N"},
    "b pawn and bishop": {"bc5": "bxc5, Bxc5", "BXC5": "bxc5", "BC5": "bxc5", "c5": "bxc5"},
    "bishop alone": {"c5": "to play Bxc5, write Bxc5", "ac5": "write Bxc5"},
    "b pawn alone": {"Bxc5": "to play bxc5, write bxc5", "Bc5": "write bxc5"},
    "en passant": {"d6": "to play exd6, write exd6"},
    "two knights": {"Ne2": "Nge2, Nce2", "ne2": "Nge2, Nce2", "se2": "Nge2, Nce2"},
    "queen and d pawn": {"dd4": "write Qd4", "dxd5": "write Qxd5", "d5": "exd5, Qxd5"},
    "b2 and d2": {"B2C3": "bxc3", "bc3": "bxc3"},
    "bishop on e2": {"\u0441\u04414": "to play Bc4, write Bc4", "b2c4": "write Bc4"},
    "c4 and bishop": {"\u0441d5": "cxd5, Bxd5", "\u0441xd5": "cxd5, Bxd5"},
    "draughts": {"15": "11-15, 10-15", "1115": "to play 11-15, write 11-15", "9": "9-13, 9-14"},
    "two jumps": {"22x6": "22x15x6, 22x13x6", "22 6": "22x15x6, 22x13x6"},
    "jumps": {"22x15": "to play 22x8, write 22x8", "22 15": "write 22x8"},
    "othello": {"d": "write d3"},
    "tic-tac-toe": {"1": "a1, a3", "b": "b1, b2, b3"},
    "kalah": {"3": "write c1", "c": "write c1"},
    "mill": {"a7": "a7-g7, a7-d6"},
    "sticks": {"32": "write 3x2", "3": "3x1, 3x2, 3x3"},
    "breakthrough": {"a3": "a2a3, b2a3"},
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_may_be_another_move_is_a_question(name: str) -> None:
    """Nothing is played that the person may not have meant: the message names the moves."""
    position = position_of(name)
    for text, named in QUESTIONS[name].items():
        with pytest.raises(AmbiguousMove) as asked:
            read_move(position, text)
        assert text in str(asked.value)
        assert named in str(asked.value), text
        assert all(read_move(position, choice).token for choice in asked.value.choices)


#: Texts that are no legal move, and what the message says.
REFUSED = {
    "start": {"e5": "e5 is not allowed here", "Nf5": "no white knight may go to f5",
              "nf5": "no white knight may go to f5", "e7e5": "the black pawn on e7 is not yours",
              "e3e4": "there is no piece on e3", "o-o": "O-O is not allowed here",
              "2. castle long": "O-O-O is not allowed here",
              "g1-g5": "the white knight on g1 may not go to g5", "P-K4": "there is no k4",
              "i9": "there is no i9 on this board"},
    "check": {"a1a2": "the white rook on a1 may not go to a2 (you are in check)",
              "Ra8": "no white rook may go to a8 (you are in check)"},
    "draughts": {"33-34": "there is no 33 on this board", "11-18": "may not go to 18",
                 "22-18": "the white man on 22 is not yours"},
    "othello": {"d4": "d4 is taken", "D 4": "d4 is taken", "d-5": "d5 is taken",
                "a1": "a1 is not allowed here", "PASS": "not allowed here"},
    "kalah": {"c2": "c2 is not allowed here"},
    "gomoku": {"p1": "there is no p1 on this board"},
    "sticks": {"2x9": "2x9 is not allowed here"},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_illegal_move_is_refused_with_the_reason(name: str) -> None:
    """The message says what was read, and why it is not allowed."""
    position = position_of(name)
    for text, reason in REFUSED[name].items():
        with pytest.raises(IllegalMove) as refused:
            read_move(position, text)
        assert reason in str(refused.value)


@pytest.mark.parametrize("text", ["", " ", "hello", "king", "zz", "x" * 5000, "{}", "1.", "♔", "?",
                                  "\U0001f434f3", "\U0001fa04f3"])  # fmt: skip
def test_what_is_no_move_is_refused(text: str) -> None:
    """The message says how a move is written."""
    with pytest.raises((MalformedMove, AmbiguousMove), match=r"written like|characters|can be"):
        read_move(load_game("chess").start(), text)


@pytest.mark.parametrize("name", ["bishop on e2", "c4 and bishop"])
def test_two_squares_are_no_other_move(name: str) -> None:
    """Two squares in Cyrillic letters are the move between them or are refused: neither letter is a
    piece.
    """
    position = position_of(name)
    targets = {path[-1] for path in (view.path for view in position.move_views())}
    cyrillic = str.maketrans("ace", "\u0430\u0441\u0435")
    for origin in (f"{column}{row}" for column in "ace" for row in range(1, 9)):
        for target in (each for each in targets if each[0] in "ace"):
            typed = f"{origin}{target}".translate(cyrillic)
            for text in (typed, typed.upper()):
                try:
                    token = read_move(position, text).token
                except GameError:
                    token = ""
                assert token in ("", f"{origin}{target}"), text


@pytest.mark.parametrize("name", ["draughts", "sticks", "connect four", "signs"])
def test_a_game_without_castling_has_no_words_for_it(name: str) -> None:
    """The refusal names what was typed."""
    for text in ("short", "castle kingside", "1. long castling"):
        with pytest.raises(MalformedMove, match=text.removeprefix("1. ").split()[0]):
            read_move(position_of(name), text)


def test_only_a_reading_that_is_far_from_the_text_is_told() -> None:
    """Case, numbers, spaces and signs are put right silently: the move that is played shows it."""
    position = position_of("castling")
    for text in ("0-0", "1. o-o!", "BXA8=Q", "b7 a8 q", "e1g1"):
        assert read_move(position, text).says == ""
    assert read_move(position, "e1h1").says == "e1h1 is read as O-O"
    assert read_move(position, "bxa8=D").says == "bxa8=D is read as bxa8=Q"
    assert read_move(position_of("connect four"), "4.").says == "4 is read as d"


def meanings(position: Position, text: str) -> tuple[str, ...]:
    """Returns the token of the move that a text means, or those of all that it may mean."""
    try:
        return (read_move(position, text).token,)
    except AmbiguousMove as question:
        return tuple(read_move(position, choice).token for choice in question.choices)


#: Ways to write a token or a notation.
SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    lambda text: f"12. {text}!",
    lambda text: f" {text} ",
    lambda text: text.replace("-", "\u2013"),
    lambda text: text.replace("x", ":"),
    lambda text: text.replace("x", "").replace("-", ""),
)


@pytest.mark.parametrize("game_id", game_ids())
def test_no_spelling_of_a_move_is_another_move(game_id: str) -> None:
    """In random matches a token and a notation are their move, and each spelling of them is that
    move, or a question that names it. Only what is another move's own notation is that move.
    """
    game, rng = load_game(game_id), random.Random(3)
    for _ in range(2):
        position = game.start()
        while position.outcome() is None:
            move = rng.choice(position.moves())
            token, notation = position.format_move(move), position.notation(move)
            others = {position.notation(each) for each in position.moves() if each != move}
            position, before = position.play(move), position
            if rng.random() < 0.85:
                continue
            for text in (token, notation):
                assert meanings(before, text) == (token,), (before.text(), text)
                for spelling in {spell(text) for spell in SPELLINGS} - others:
                    assert token in meanings(before, spelling), (before.text(), spelling)
