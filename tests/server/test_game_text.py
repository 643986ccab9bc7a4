"""server/analysis/game_text.py: games as text are read as they were written."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from engine.rules.numbering import move_number
from engine.rules.registry import load_game, production_ids
from server.analysis.game_text import BadGameText, parse_game
from server.ops.analyse import main, match_entry
from server.rooms.starts import check_start

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


@given(played_games())
def test_games_are_read_back(played: tuple[str, list[str], str]) -> None:
    """The text of any game is read back, whether its moves are tokens or notation."""
    game_id, tokens, text = played
    read = parse_game(text, load_game)
    assert (read.game.id, list(read.moves)) == (game_id, tokens)
    assert len(read.positions) == len(tokens) + 1


def test_pgn_is_read() -> None:
    """A text without a game is chess in PGN; comments, variations and annotations are skipped."""
    read = parse_game(PGN, load_game)
    assert (read.game.id, len(read.moves), read.names) == ("chess", 11, ("Morphy", "Allies"))
    assert (read.moves[0], read.moves[-1], read.result) == ("e2e4", "f1c4", "1-0")


def test_options_and_start_positions_are_read() -> None:
    """`Option` sets an option, and `Start` or `FEN` the position from which the game starts."""
    hex_game = parse_game('[Game "hex"]\n[Option "swap=no"]\n1. a1 b2', load_game)
    assert hex_game.options["swap"] == "no"
    fen = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"
    read = parse_game(f'[FEN "{fen}"]\n1. e4 Kxe4', load_game)
    assert read.start == check_start(load_game("chess"), {}, fen).text()


#: Texts as people have them, and the tokens of their moves.
AS_FOUND = {
    "1 e4 e5 2 Nf3 Nc6 1-0": "e2e4 e7e5 g1f3 b8c6",
    "1.e4 e5 2.Nf3": "e2e4 e7e5 g1f3",
    "1. e4 {x} 1\u2026 e5 2. Nf3": "e2e4 e7e5 g1f3",
    "1. e4 e5\n% a line for programs\n2. Nf3": "e2e4 e7e5 g1f3",
    "1. e4 { [%clk 0:00:30] } 1... e5 $1 (2. f4 (2... d5) ) 2. Nf3 +=": "e2e4 e7e5 g1f3",
    "1. e4 (1. d4 {see a) and b} d5) e5": "e2e4 e7e5",
    "1. e4 ; best (by test\n e5": "e2e4 e7e5",
    '[White "A"] [Black "B"]\n1. e4 e5': "e2e4 e7e5",
    '[White "Jo \\"X\\" Doe"]\n[WhiteElo "2000"]\n[My-Tag "x"]\n1. e4': "e2e4",
    '[Event "a"] ; comment\n1. e4': "e2e4",
    '[FEN "4k3/8/8/8/8/8/4P3/4K3 w - -"]\n1. e4': "e2e4",
    '\ufeff[White "A"]\r\n[Black "B"]\r\n\r\n1. e4 e5\r\n': "e2e4 e7e5",
    "1. e4 Nf6 2. e5 d5 3. exd6e.p. *": "e2e4 g8f6 e4e5 d7d5 e5d6",
    "1. ♘f3 ♞f6": "g1f3 g8f6",
    '[Game "connect-four"]\nd d e d': "d d e d",
    '[Game "othello"]\nf5 d6 c3 d3 c4': "f5 d6 c3 d3 c4",
    '[Game "nine-mens-morris"]\n1. d6 f4 2. d2 b4': "d6 f4 d2 b4",
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
}


@pytest.mark.parametrize("text", AS_FOUND)
def test_games_are_read_as_people_have_them(text: str) -> None:
    """Numbers, comments, results and moves of any form are read."""
    assert list(parse_game(text, load_game).moves) == AS_FOUND[text].split()


#: Tags and the end of a text, with the result and the seat that won.
RESULTS = {
    ('[Result "1-0"]', ""): ("1-0", 0),
    ('[Result "0-1"]', "0-1"): ("0-1", 1),
    ("", "1-0"): ("1-0", 0),
    ("", "1\u20130"): ("1-0", 0),
    ('[Result "*"]', "1-0"): ("1-0", 0),
    ('[Result "1-0"]', "*"): ("1-0", 0),
    ('[Result "½-½"]', "1/2"): ("1/2-1/2", None),
    ("", "1/2"): ("1/2-1/2", None),
    ("", "½-½"): ("1/2-1/2", None),
    ('[Result "*"]', "*"): ("", None),
    ("", ""): ("", None),
}


@pytest.mark.parametrize(("tag", "end"), RESULTS)
def test_the_result_counts(tag: str, end: str) -> None:
    """The result is that of the tag or that after the moves."""
    read = parse_game(f"{tag}\n1. e4 e5 {end}", load_game)
    assert (read.result, read.winner) == RESULTS[tag, end]
    played = match_entry(read, "game.pgn")["over"]
    assert (None if played is None else played["winner"]) == read.winner
    assert (played is None) == (read.result == "")


def test_what_happened_on_the_board_stands() -> None:
    """A mate ends the game, whatever the text says after it, and nothing follows it."""
    mate = "1. f3 e5 2. g4 Qh4#"
    over = match_entry(parse_game(f"{mate} 0-1", load_game), "x")["over"]
    assert over == {"winner": 1, "how": "board", "reason": "checkmate"}
    with pytest.raises(BadGameText, match="over before move 5, 'a3': checkmate"):
        parse_game(f"{mate} 3. a3", load_game)


def test_white_is_the_side_of_that_name() -> None:
    """In draughts Black begins: White's name and White's win are those of the second side."""
    text = '[Game "draughts"]\n[White "Wendy"] [Black "Bo \\"B\\""]\n1. 11-15 1-0'
    read = parse_game(text, load_game)
    assert (read.names, read.winner) == (('Bo "B"', "Wendy"), 1)
    by_seat = text.replace("White", "First").replace("Black", "Second")
    read = parse_game(by_seat, load_game)
    assert (read.names, read.winner) == (("Wendy", 'Bo "B"'), 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("1. e4 e5 1-0 1. d4 d5 0-1", "several games"), ("1. e4 e5\n\n1. d4 d5", "several games"),
     ('[White "A"]\n1. e4 *\n\n[White "B"]\n1. d4 *', r"several games \(tags .* line 4\)"),
     ("e4 e5 * d4", "several games .d4 follows the result \\*"),
     ("1. e4 {open", "line 1 has no end"),
     ("1. e4\n(1. d4", "closing parenthesis"), ("1. e4\n1. d4) d5", "line 2 ends a variation"),
     ('[GameType "20"]\n1. 32-28', "name the game"), ('[Variant "Atomic"]\n1. e4', "not chess"),
     ("1. e4 -- 2. d4", "move 2, '--', is not legal"),
     ("1. Nf3 d6 2. d3 d5 3. Nd2", r"move 5, 'Nd2', is not clear: .* Nbd2, Nfd2"),
     ('[Result "1-0"]\n1. e4 e5 0-1', "Result says 1-0, but the moves end with 0-1"),
     ("1. e4 0-0", "move 2, '0-0', is not legal"), ("1. e4 e4", r"move 2, 'e4', is not legal"),
     ('[FEN "8/8/4k3/8/8/4K3/8/8 w - - 0 1"]\n1. Kd3 Kd5', "over before move 1, 'Kd3'"),
     (f"1. {'Nf3 Nf6 Ng1 Ng8 ' * 4}e4 e5", "over before move 17, 'e4': the same position 5 times"),
     ("", "no moves: it is empty"), ("1-0", "no moves"), ('[White "A"]\n\n*\n', "no moves"),
     ('[Game "checkers of mars"]\n1. a1', "checkers of mars"), ("x" * 300_000, "longer"),
     ('[FEN "nonsense"]\n1. e4', "position"), ('[Option "size"]\n1. e4', "size=9"),
     ('[Game "hex"]\n[Option "size=3000"]\n1. a1', "swap")],
)  # fmt: skip
def test_texts_that_are_refused(text: str, reason: str) -> None:
    """A text that is no game is refused in words that name what is wrong."""
    with pytest.raises(BadGameText, match=reason):
        parse_game(text, load_game)


#: Part of the message by the content of a file.
BAD_FILES = {
    b"": "no moves: it is empty",
    b"\x89PNG\r\n\x1a\n\x00": "it is not a text file",
    b"\xff\xfe\x00": "it is not the text in UTF-16 that it says",
    b'[White "A"]\n1. e4 *\n[White "B"]\n1. d4 *': "several games",
    "1. e5 {André}".encode("latin-1"): "move 1, 'e5', is not legal: e5 is not allowed here",
    b"x " * 300_000: "longer than 200,000 characters",
}


@pytest.mark.parametrize("content", BAD_FILES, ids=list(BAD_FILES.values()))
def test_a_file_that_cannot_be_analysed(content: bytes, tmp_path: Path) -> None:
    """The command names the file and the reason in one line, with status 1."""
    file = tmp_path / "game.pgn"
    file.write_bytes(content)
    result = CliRunner().invoke(main, [str(file)])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {file}: ")
    assert BAD_FILES[content] in result.output
    assert result.output.count("\n") == 1


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    """The reason is that of the system."""
    result = CliRunner().invoke(main, [str(tmp_path / "none.pgn")])
    assert result.exit_code == 2
    assert "does not exist" in result.output
