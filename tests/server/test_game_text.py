"""server/analysis/game_text.py: games as text are read as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.rules.numbering import move_number
from engine.rules.registry import load_game, production_ids
from server.analysis.game_text import BadGameText, parse_game
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [("1. e4 e4", r"move 2, 'e4', is not legal"), ("", "no moves"), ("1-0", "no moves"),
     ('[Game "checkers of mars"]\n1. a1', "checkers of mars"), ("x" * 300_000, "longer"),
     ('[FEN "nonsense"]\n1. e4', "position"), ('[Option "size"]\n1. e4', "size=9"),
     ('[Game "hex"]\n[Option "size=3000"]\n1. a1', "swap")],
)  # fmt: skip
def test_texts_that_are_refused(text: str, reason: str) -> None:
    """A text that is no game is refused in words that name what is wrong."""
    with pytest.raises(BadGameText, match=reason):
        parse_game(text, load_game)
