"""engine/formats/read/pgn.py: games as PGN and PDN are read as people write them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.formats.read.moves import BadPart, MoveReader
from engine.formats.read.pgn import parse_pgn
from engine.formats.record import BadGame, GameRecord
from engine.rules.numbering import move_number
from engine.rules.registry import load_game, production_ids

PGN = """\
[Event "Paris"]
[White "Morphy"]
[Black "Allies"]
[Result "1-0"]

1. e4 e5 2.Nf3 d6 {Philidor (1762)} 3. d4 Bg4?! ; a comment
4.dxe5 $1 (4. Bc4 exd4 (4... Nc6)) 4... Bxf3 5. Qxf3 dxe5 6. Bc4! 1-0
"""


@st.composite
def played_games(draw: st.DrawFn) -> tuple[str, list[str], str]:
    """A game, the tokens of random moves, and its text, with tokens or with notation."""
    game = load_game(draw(st.sampled_from(production_ids())))
    uses_notation = draw(st.booleans())
    position, tokens, words = game.start(), [], []
    for ply in range(draw(st.integers(1, 15))):
        if position.outcome() is not None:
            break
        move = draw(st.sampled_from(position.moves()))
        if draw(st.booleans()):
            words.append(move_number(game, ply, position.turn))
        tokens.append(position.format_move(move))
        words.append(position.notation(move) if uses_notation else tokens[-1])
        position = position.play(move)
    return game.id, tokens, f'[Game "{game.id}"]\n\n{" ".join(words)} *\n'


def read_all(text: str | bytes) -> list[GameRecord | BadGame]:
    """All games of a text."""
    return list(parse_pgn([text if isinstance(text, bytes) else text.encode()], load_game))


def read_one(text: str) -> GameRecord:
    """The only game of a text, which is good."""
    (game,) = read_all(text)
    assert isinstance(game, GameRecord), game
    return game


def tokens(game: GameRecord) -> list[str]:
    """The moves of a game."""
    return [move.token for move in game.moves]


def names(game: GameRecord) -> list[str]:
    """The names of the players by seat."""
    return [seat.name for seat in game.seats]


@given(played_games())
def test_games_are_read_back(played: tuple[str, list[str], str]) -> None:
    """The text of any game is read back, whether its moves are tokens or notation, and each move
    has the notation of the game.
    """
    game_id, played_tokens, text = played
    game = read_one(text)
    assert (game.game, tokens(game)) == (game_id, played_tokens)
    position = load_game(game_id).start()
    for move in game.moves:
        wanted = position.notation(position.parse_move(move.token))
        assert move.text == (wanted if position.game.rules.notation else None)
        position = position.replay(move.token)


def test_pgn_is_read() -> None:
    """A text without a game is chess in PGN; comments and variations are kept as comments."""
    game = read_one(PGN)
    assert (game.game, len(game.moves), names(game)) == ("chess", 11, ["Morphy", "Allies"])
    assert (game.moves[0].token, game.moves[-1].token) == ("e2e4", "f1c4")
    assert game.over is not None
    assert game.over.winner == 0
    assert game.moves[3].comment == "Philidor (1762)"
    assert (game.moves[5].nags, game.moves[5].comment) == ((6,), "a comment")
    assert (game.moves[6].nags, game.moves[6].comment) == ((1,), "(4. Bc4 exd4 (4... Nc6))")
    assert game.moves[10].nags == (1,)


def test_signs_behind_and_between_moves_are_kept() -> None:
    """Signs are the numeric annotations of PGN, those of draughts too."""
    game = read_one("1. e4! e5 $10 2. Nf3 ± Nc6?! $146 (!) 3. Bb5 +/- D")
    assert [move.nags for move in game.moves] == [(1,), (10,), (16,), (6, 146, 1), (16,)]
    game = read_one("1. e4 $300 $0 {[%eval +0.5] good} e5 {[%eval #-3,20]} {[%eval ?]}")
    assert [(move.nags, move.eval, move.comment) for move in game.moves] == [
        ((), "0.5", "good"), ((), "#-3,20", "[%eval ?]"),
    ]  # fmt: skip
    game = read_one('[GameType "21"] 1. 11-15* 23-19!! (?) *')
    assert [move.nags for move in game.moves] == [(7,), (3, 2)]
    assert game.over is None


def test_passes_that_nobody_wrote_are_played() -> None:
    """A transcript of Othello leaves out the passes, or has them as PA or --."""
    rng = random.Random(42)
    position, tokens_played = load_game("othello").start(), list[str]()
    while position.outcome() is None:
        tokens_played.append(rng.choice(position.tokens()))
        position = position.replay(tokens_played[-1])
    assert tokens_played.count("pass") == 2
    assert tokens_played[-1] != "pass"
    written = ["PA" if token == "pass" else token for token in tokens_played]
    for text in (
        "".join(written), " ".join(written), " ".join(written).replace("PA", "--"),
        "".join(written).replace("PA", ""),
    ):  # fmt: skip
        read = tokens(read_one(f'[Game "othello"]\n{text}'))
        assert read == tokens_played


def test_a_word_of_several_moves_is_played_whole_or_not_at_all() -> None:
    """Where one of its moves is not legal, none of them is played."""
    reader = MoveReader(load_game("othello").start())
    reader.read("f5d6")
    before = reader.position
    with pytest.raises(BadPart, match="move 2 of it, c3: c3 is taken"):
        reader.read("c3c3")
    assert (reader.position, [move.token for move in reader.moves]) == (before, ["f5", "d6"])
    assert reader.turns == [0, 1]


def test_options_and_start_positions_are_read() -> None:
    """`Option` sets an option, and `Start` or `FEN` the position from which the game starts; what
    was put right in it is said.
    """
    game = read_one('[Game "hex"]\n[Option "swap=no"]\n1. a1 b2')
    assert game.options["swap"] == "no"
    fen = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"
    assert read_one(f'[FEN "{fen}"]\n1. e4 Kxe4').start == fen
    mended = read_one(f'[FEN "{fen.replace("- -", "Q -")}"]\n1. e4 Kxe4')
    assert mended.start == fen
    assert mended.extra == {"mended": ["castling right Q dropped: no rook on a1"]}


#: Texts as people have them, and the tokens of their moves.
AS_FOUND = {
    "1 e4 e5 2 Nf3 Nc6 1-0": "e2e4 e7e5 g1f3 b8c6",
    "1.e4 e5 2.Nf3": "e2e4 e7e5 g1f3",
    "1. e4 {x} 1\u2026 e5 2. Nf3": "e2e4 e7e5 g1f3",
    "1. e4 e5\n% a line for programs\n2. Nf3": "e2e4 e7e5 g1f3",
    "1. e4 { [%clk 0:00:30] } 1... e5 $1 (2. f4 (2... d5) ) 2. Nf3 +=": "e2e4 e7e5 g1f3",
    "1. e4 (1. d4 {see a) and b} d5) e5": "e2e4 e7e5",
    "1. e4 ; best (by test\n e5": "e2e4 e7e5",
    "\ufeff1. e4 e5": "e2e4 e7e5",
    "1. e4 Nf6 2. e5 d5 3. exd6 e.p. *": "e2e4 g8f6 e4e5 d7d5 e5d6",
    "1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. 0-0 O\u2013O": "e2e4 e7e5 g1f3 g8f6 f1c4 f8c5 e1g1 e8g8",
    "1. e4 f6 2. d4 g5 3. Qh5++": "e2e4 f7f6 d2d4 g7g5 d1h5",
    "1. e2-e4 e7-e5 2. Ng1-f3 ♞c6": "e2e4 e7e5 g1f3 b8c6",
    "1. e4 e5 2. Sf3 Sc6 3. Lb5": "e2e4 e7e5 g1f3 b8c6 f1b5",
    '[Game "othello"]\nF5 D6 C3 D3 C4': "f5 d6 c3 d3 c4",
    '[Game "connect-four"] 4 4 5 3': "d d e c",
    '[Game "connect-four"] 1 d 2 e': "d e",
    '[Game "international-draughts"]\n1.32-28 19-23 2.28:19 14x23 2-0': "32-28 19-23 28x19 14x23",
    '[Game "draughts"]\n1. 11-15* 23-19 0-0': "11-15 23-19",
    '[GameType "20,W,10,10,N2,0"] 1. 3228 19-23 0-0': "32-28 19-23",
    "1. 32-28 19-23 2. 28x19 14x23 2-0": "32-28 19-23 28x19 14x23",
    "1. 11-15 23-19 2. 8-11 22-17 1-1": "11-15 23-19 8-11 22-17",
    "f5d6c3d3C4": "f5 d6 c3 d3 c4",
    '[Game "othello"] f5d6 c3d3 1-0': "f5 d6 c3 d3",
    '[Game "connect-four"] 4453': "d d e c",
    '[Game "connect-four"] ddec': "d d e c",
    '[Game "connect-four"] 1. 4 4 2. 5 3': "d d e c",
    '[Game "nine-mens-morris"] 1. d6 f4 2. d2 b4': "d6 f4 d2 b4",
    '[My-Tag "x"] [WhiteElo "2000"] ; said\n1. e4 e5 N (!) 2. Nf3 D ±': "e2e4 e7e5 g1f3",
    "1.e4 1...e5 2 . Nf3": "e2e4 e7e5 g1f3",
    "1. ♘f3 ♞f6 *": "g1f3 g8f6",
    "41 e4 e5 42 Nf3": "e2e4 e7e5 g1f3",
    '[FEN "4k3/8/8/8/8/8/4P3/4K3 b - -"] 1... Kd7 2. e4': "e8d7 e2e4",
    "{about it} 1. e4 {x\n\n[y] z} e5": "e2e4 e7e5",
    '[White "Jo "X" Doe"]\n1. e4': "e2e4",
    '[White "A"]\n\n*': "",
}


@pytest.mark.parametrize("text", AS_FOUND)
def test_games_are_read_as_people_have_them(text: str) -> None:
    """Numbers, comments, results and moves of any form are read."""
    assert tokens(read_one(text)) == AS_FOUND[text].split()


#: Tags and the end of a text, with the result and the seat that won.
RESULTS = {
    ('[Result "1-0"]', ""): (0,),
    ('[Result "0-1"]', "0-1"): (1,),
    ("", "1-0"): (0,),
    ("", "1\u20130"): (0,),
    ('[Result "*"]', "1-0"): (0,),
    ('[Result "1-0"]', "*"): (0,),
    ('[Result "½-½"]', "1/2"): (None,),
    ("", "½-½"): (None,),
    ("", "0-2"): (1,),
    ('[Result "0-0"]', "0-0"): (None,),
    ('[Result "*"]', "*"): (),
    ("", ""): (),
}


@pytest.mark.parametrize(("tag", "end"), RESULTS)
def test_the_result_counts(tag: str, end: str) -> None:
    """The result is that of the tag or that after the moves."""
    over = read_one(f"{tag}\n1. e4 e5 {end}").over
    assert (() if over is None else (over.winner,)) == RESULTS[tag, end]


#: What the tag Termination says, and the word of the server's logs.
TERMINATIONS = {
    "Ann won by resignation": "resign", "Time forfeit": "flag", "Bob won on time": "flag",
    "Game drawn by agreement": "agreement", "White adjourned": "",
}  # fmt: skip


@pytest.mark.parametrize("termination", TERMINATIONS)
def test_the_termination_counts(termination: str) -> None:
    """The reason is that of the file; a common one has the word of our logs too."""
    over = read_one(f'[Termination "{termination}"]\n1. e4 1-0').over
    assert over is not None
    assert (over.how, over.reason) == (TERMINATIONS[termination], termination)


def test_what_happened_on_the_board_stands() -> None:
    """A mate ends the game, whatever the text says after it, and nothing follows it."""
    mate = "1. f3 e5 2. g4 Qh4#"
    over = read_one(f"{mate} 1-0").over
    assert over is not None
    assert (over.winner, over.how, over.reason) == (1, "board", "checkmate")
    (bad,) = read_all(f"{mate} 3. a3")
    assert "'a3' stands there, the end of the game (the game is over: checkmate)" in str(bad)


def test_players_may_go_on_after_a_draw_by_the_rules() -> None:
    """Moves after the fifth repetition or with bare kings are kept; where our rules would have
    ended the match is marked. A winner whom the file names has won.
    """
    cycle = "Nf3 Nf6 Ng1 Ng8 "
    game = read_one(f"{cycle * 4}e4 e5 1-0")
    assert tokens(game)[-2:] == ["e2e4", "e7e5"]
    assert game.extra == {"played_on": {"plies": 16, "reason": "the same position 5 times"}}
    assert game.over is not None
    assert (game.over.winner, game.over.how) == (0, "")
    drawn = read_one(f"{cycle * 4}*")
    assert drawn.over is not None
    assert (drawn.over.winner, drawn.over.how, drawn.extra) == (None, "board", {})
    assert read_one(f"{cycle * 4}0-1").over == game.over.__class__(1)
    bare = read_one('[FEN "8/8/4k3/8/8/4K3/8/8 w - -"]\n1. Kd3 Kd5')
    assert (tokens(bare), bare.over) == (["e3d3", "e6d5"], None)
    reason = "not enough pieces to mate"
    assert bare.extra == {"played_on": {"plies": 0, "reason": reason}}


def test_white_is_the_side_of_that_name() -> None:
    """In draughts Black begins: White's name and White's win are those of the second side."""
    text = '[Game "draughts"]\n[White "Wendy"] [Black "Bo \\"B\\""]\n1. 11-15 1-0'
    game = read_one(text)
    assert names(game) == ['Bo "B"', "Wendy"]
    assert game.over is not None
    assert game.over.winner == 1
    by_seat = read_one(text.replace("White", "First").replace("Black", "Second"))
    assert names(by_seat) == ["Wendy", 'Bo "B"']
    assert by_seat.over is not None
    assert by_seat.over.winner == 0


#: Files of several games: the moves of each, or the place of a bad one.
SEVERAL: dict[str, list[str | tuple[int, int]]] = {
    "1. e4 e5 1-0 1. d4 d5 0-1": ["e2e4 e7e5", "d2d4 d7d5"],
    "1. e4 e5\n\n1. d4 d5": ["e2e4 e7e5", "d2d4 d7d5"],
    "1. e4\n\n1. d4 d5": ["e2e4", "d2d4 d7d5"],
    '[White "A"]\n1. e4 *\n\n[White "B"]\n1. d4 *': ["e2e4", "d2d4"],
    '[White "A"] 1. e4 * [White "B"] 1. d4 *': ["e2e4", "d2d4"],
    '[White "A"]\n\n[White "B"]\n\n1. d4 *': ["d2d4"],
    "e4 e5 * d4": ["e2e4 e7e5", "d2d4"],
    '[Event "a"]\n1. e4 {never closed\n\n[Event "b"]\n1. d4 *': [(2, 7), "d2d4"],
    '[Event "a"]\n1. e4 (1. d4\n\n[Event "b"]\n1. d4 *': [(2, 7), "d2d4"],
    '[Event "a"]\n1. e4 Ke3 1-0\n[Event "b"]\n1. d4 *': [(2, 7), "d2d4"],
    "1. e4 Ke3 2. d4 e9 1-0\n\n1. d4 *": [(1, 7), "d2d4"],
    '[Event "a"]\n{[Event "b"]\n[Event "c"] } 1. e4 *': ["e2e4"],
    "": [],
    "{only a comment}": [],
}


@pytest.mark.parametrize("text", SEVERAL)
def test_a_file_may_have_several_games(text: str) -> None:
    """Each game is one, and a bad one takes none of the others with it."""
    found = [
        (game.line, game.column) if isinstance(game, BadGame) else " ".join(tokens(game))
        for game in read_all(text)
    ]
    assert found == SEVERAL[text]


#: Bad games, with the place of what is wrong, what stands there and a part of what was expected.
REFUSED = {
    "1. e4 {open": (1, 7, "{open", "a comment that ends with }"),
    "1. e4\n(1. d4": (2, 1, "(1. d4", "a variation that ends with )"),
    "1. e4 e5) 2. d4": (1, 9, ")", "a move"),
    "1. e4\n1. d4 d5": (2, 4, "d4", "a legal move of Black"),
    '[GameType "25"]\n1. 32-28': (1, 1, "25", "it is Russian draughts"),
    '[Variant "Atomic"]\n1. e4': (1, 1, "Atomic", "a game that is played here"),
    "1. e4 -- 2. d4": (1, 7, "--", "a null move skips a turn"),
    "1. Nf3 d6 2. d3 d5 3. Nd2": (1, 23, "Nd2", "Nd2 can be any of: Nbd2, Nfd2"),
    '[Result "1-0"]\n1. e4 e5 0-1': (2, 10, "0-1", "the result of the tag Result, 1-0"),
    "1. e4 0-0": (1, 7, "0-0", "a legal move of Black"),
    "1. e4 e4": (1, 7, "e4", "a legal move of Black (e4 is not allowed here)"),
    '[Game "checkers of mars"]\n1. a1': (1, 1, "checkers of mars", "there is no game"),
    '[FEN "nonsense"]\n1. e4': (1, 1, "nonsense", "a FEN has six fields"),
    '[Option "size"]\n1. e4': (1, 1, "size", 'an option like [Option "size=9"]'),
    '[Game "hex"]\n[Option "size=3000"]\n1. a1': (2, 1, "size=3000", "it has: swap"),
    "1. e4\n\te5 [x": (2, 5, "[", "a tag like"),
    '[Game "othello"] f5d6c3d6 *': (1, 18, "f5d6c3d6", "legal moves (move 4 of it, d6"),
    "1. e4 e5\x00": (1, 9, "\x00", "text"),
    '[FEN "4k3/8/8/8/4r3/8/4N3/4K3 w - -"] 1. Nc3': (1, 42, "Nc3", "a legal move of White"),
    "1. e4 f5 2. Qh5+ a6": (1, 18, "a6", "you are in check"),
    '[Game "othello"]\n1. f5 f4 2. e3 PA': (2, 16, "PA", "a legal move of White"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_games_that_are_refused(text: str) -> None:
    """A game that is not right is named by line and column, with what was expected there."""
    (bad,) = read_all(text)
    assert isinstance(bad, BadGame), bad
    line, column, found, expected = REFUSED[text]
    assert (bad.number, bad.line, bad.column, bad.found) == (1, line, column, found)
    assert expected in bad.expected
