"""Boards as text: a golden picture of each game, and properties of random positions."""

import random
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.terminal.board import (
    MARKS,
    STROKES,
    draw_board,
    piece_letters,
    pieces_text,
)
from client.terminal.colours import FIXED_COLOURS, HUES, colour_code, side_codes
from client.terminal.figures import LINES, piece_figures
from client.terminal.layout import COLS, ROWS, lay_out
from client.terminal.words import position_text
from engine.game import Position
from engine.rules.registry import game_ids, load_game
from engine.view import BoardView, Border, Grid, Kind, PositionView, SeatView, Site, Sites
from tests.support.terminals import EmulatedTerminal

#: Game, options, moves, and the picture of the position after them.
GOLDEN: list[tuple[str, dict[str, str], str, str]] = [
    ("tic-tac-toe", {}, "", """\
 3  .  .  .
 2  .  .  .
 1  .  .  .
    a  b  c
Crosses to move"""),
    ("tic-tac-toe", {}, "b2 a1 c1 a3 a2 c2 b3", """\
 3  O [X] .
 2  X  X  O
 1  O  .  X
    a  b  c
[ ] last move
Noughts to move"""),
    ("tic-tac-toe", {}, "a1 b1 a2 b2 a3", """\
 3 *X* .  .
 2 *X* O  .
 1 *X* O  .
    a  b  c
* * winning row
Crosses win"""),
    ("connect-four", {}, "d d e", """\
 6  .  .  .  .  .  .  .
 5  .  .  .  .  .  .  .
 4  .  .  .  .  .  .  .
 3  .  .  .  .  .  .  .
 2  .  .  .  Y  .  .  .
 1  .  .  .  R [R] .  .
    a  b  c  d  e  f  g
[ ] last move
Yellow to move"""),
    ("connect-four", {}, "a g b g c g d", """\
 6  .  .  .  .  .  .  .
 5  .  .  .  .  .  .  .
 4  .  .  .  .  .  .  .
 3  .  .  .  .  .  .  Y
 2  .  .  .  .  .  .  Y
 1 *R**R**R**R* .  .  Y
    a  b  c  d  e  f  g
* * winning row
Red wins"""),
    ("sticks", {"rows": "1-3-5-7"}, "", """\
 1  |
 2  |  |  |
 3  |  |  |  |  |
 4  |  |  |  |  |  |  |
First to move"""),
    ("sticks", {}, "3x2", """\
 1  |
 2  |  |
 3  | [.][.]
[ ] last move
Second to move"""),
    ("othello", {}, "d3 c5", """\
 1  .  .  .  .  .  .  .  .
 2  .  .  .  .  .  .  .  .
 3  .  .  .  X  .  .  .  .
 4  .  .  .  X  X  .  .  .
 5  .  . [O] O  O  .  .  .
 6  .  .  .  .  .  .  .  .
 7  .  .  .  .  .  .  .  .
 8  .  .  .  .  .  .  .  .
    a  b  c  d  e  f  g  h
[ ] last move
Black to move; Black 3, White 3"""),
    ("draughts", {}, "11-15 22-18 15x22", """\
32      wM      wM      wM      wM    29
28  wM      wM      wM      wM        25
24      wM      wM     [bM]     wM    21
20  20      19      18      17        17
16      16     [15]     14      13    13
12  bM      11      bM      bM         9
 8      bM      bM      bM      bM     5
 4  bM      bM      bM      bM         1
[ ] last move
White to move"""),
    ("international-draughts", {}, "32-28 19-23 28x19", """\
 1      bM      bM      bM      bM      bM     5
 6  bM      bM      bM      bM      bM        10
11      bM      bM      bM      bM      bM    15
16  bM      bM      bM     [wM]     bM        20
21      21      22      23      24      25    25
26  26      27     [28]     29      30        30
31      wM      32      wM      wM      wM    35
36  wM      wM      wM      wM      wM        40
41      wM      wM      wM      wM      wM    45
46  wM      wM      wM      wM      wM        50
[ ] last move
Black to move"""),
    ("chess", {}, "e2e4 f7f6 d1h5", """\
 8  bR  bN  bB  bQ !bK! bB  bN  bR
 7  bP  bP  bP  bP  bP   .  bP  bP
 6   .   .   .   .   .  bP   .   .
 5   .   .   .   .   .   .   . [wQ]
 4   .   .   .   .  wP   .   .   .
 3   .   .   .   .   .   .   .   .
 2  wP  wP  wP  wP   .  wP  wP  wP
 1  wR  wN  wB  [.] wK  wB  wN  wR
     a   b   c   d   e   f   g   h
! ! in check, [ ] last move
Black is in check"""),
    ("breakthrough", {}, "e2e3 d7d6 d2d3", """\
 8  B  B  B  B  B  B  B  B
 7  B  B  B  .  B  B  B  B
 6  .  .  .  B  .  .  .  .
 5  .  .  .  .  .  .  .  .
 4  .  .  .  .  .  .  .  .
 3  .  .  . [W] W  .  .  .
 2  W  W  W [.] .  W  W  W
 1  W  W  W  W  W  W  W  W
    a  b  c  d  e  f  g  h
[ ] last move
Black to move"""),
    ("nine-mens-morris", {}, "a7 a1 d7 d1 g7xd1", """\
 7  W-----------W----------[W]
    |           |           |
 6  |   .-------.-------.   |
    |   |       |       |   |
 5  |   |   .---.---.   |   |
    |   |   |       |   |   |
 4  .---.---.       .---.---.
    |   |   |       |   |   |
 3  |   |   .---.---.   |   |
    |   |       |       |   |
 2  |   .-------.-------.   |
    |           |           |
 1  B----------(.)----------.
    a   b   c   d   e   f   g
In hand: 6 white men, 7 black men
[ ] last move, ( ) captured
Black to place a man"""),
    ("kalah", {}, "c1 b1 f2", """\
 2  4  [5]  5   5   5  [.]
    .                   1
 1  4   .   1   6   6   6
    a   b   c   d   e   f
Seeds in store: South 1, North 0
[ ] last move
South to move"""),
    ("dots-and-boxes", {}, "a4b4 a3a4 b3b4 a3b3 d1d2 c1c2", """\
 4  .-------.       .       .
    |   B   |
 3  .-------.       .       .

 2  .       .       .       .
                   [|]      |
 1  .       .       .       .
    a       b       c       d
[ ] last move
Blue to move; Red 0, Blue 1"""),
    ("hex", {}, "c2 swap f6", """\
   a   b   c   d   e   f   g   h   i   j   k
 1  .   .   .   .   .   .   .   .   .   .   .
 2    .   .   .   .   .   .   .   .   .   .   .
 3      .   B   .   .   .   .   .   .   .   .   .
 4        .   .   .   .   .   .   .   .   .   .   .
 5          .   .   .   .   .   .   .   .   .   .   .
 6            .   .   .   .   .  [R]  .   .   .   .   .
 7              .   .   .   .   .   .   .   .   .   .   .
 8                .   .   .   .   .   .   .   .   .   .   .
 9                  .   .   .   .   .   .   .   .   .   .   .
10                    .   .   .   .   .   .   .   .   .   .   .
11                      .   .   .   .   .   .   .   .   .   .   .
Edges: Red (R) a1-k1, a11-k11; Blue (B) a1-a11, k1-k11
[ ] last move
Blue to move"""),
    ("gomoku", {}, "h8 i9 h7 i8 h9 i7 h6 i6 h5", """\
15  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
14  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
13  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
12  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
11  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
10  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
 9  .  .  .  .  .  .  . *X* O  .  .  .  .  .  .
 8  .  .  .  .  .  .  . *X* O  .  .  .  .  .  .
 7  .  .  .  .  .  .  . *X* O  .  .  .  .  .  .
 6  .  .  .  .  .  .  . *X* O  .  .  .  .  .  .
 5  .  .  .  .  .  .  . *X* .  .  .  .  .  .  .
 4  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
 3  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
 2  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
 1  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
    a  b  c  d  e  f  g  h  i  j  k  l  m  n  o
* * winning row
Black wins"""),
    ("rock-paper-scissors", {}, "scissors rock", """\
   fR              2r
   fP   fS *sR*   sP
    1s            sS
Signs: f First's, s Second's, R rock, P paper, S scissors; empty: 1s, 2r
* * won with this
Second wins"""),
    ("coin-friends", {}, "one 50", """\
   F1--10--[1b]25

                   [50]

   F2---5---2--25
Signs: F1 friend one, F2 friend two, numbers in cents; empty: 1b
[ ] last move
Asker got 50 cents"""),
]  # fmt: skip


def drawn(board: BoardView, position: PositionView, colours: int = 0, flip: bool = False) -> str:
    """Returns the board and the lines below it as one text."""
    return str(draw_board(board, position, colours, flip))


def position_after(game_id: str, options: dict[str, str], moves: str) -> Position:
    position = load_game(game_id).start(options)
    for token in moves.split():
        position = position.play(position.parse_move(token))
    return position


@pytest.mark.parametrize(("game_id", "options", "moves", "picture"), GOLDEN)
def test_a_position_has_its_golden_picture(
    game_id: str, options: dict[str, str], moves: str, picture: str
) -> None:
    position = position_after(game_id, options, moves)
    assert drawn(position.game.board(position.options), position.view()) == picture


def test_every_game_has_a_golden_picture() -> None:
    assert {game_id for game_id, *_ in GOLDEN} == set(game_ids())


@given(st.sampled_from(game_ids()), st.data())
def test_every_position_fits_on_a_page_and_shows_all_its_pieces(
    game_id: str, data: st.DataObject
) -> None:
    """A page has at most 80 by 24 printable characters, and colours do not change it."""
    game = load_game(game_id)
    position = game.start({})
    for _ in range(data.draw(st.integers(0, 40))):
        moves = position.moves()
        if not moves:
            break
        position = position.play(data.draw(st.sampled_from(moves)))
    board, view = game.board(position.options), position.view()
    picture = drawn(board, view)
    lines = picture.split("\n")
    assert len(lines) <= ROWS
    assert all(len(line) <= COLS for line in lines)
    assert picture.replace("\n", "").isprintable()
    assert picture.endswith(position_text(board, view))
    letters = piece_letters(board)
    layout = lay_out(board.board, piece_width=max(map(len, letters.values())))
    above = -min(0, *(row for row, _, _ in layout.labels)) if layout.labels else 0
    for cell, (row, col) in layout.cells.items():
        kind = board.kinds.get(view.pieces.get(cell, ""))
        empty = cell if layout.shows_ids else " " if cell in layout.blank else "."
        text = empty if kind is None else letters[view.pieces[cell]]
        col -= len(text) == 2 and (kind is not None or isinstance(board.board, Grid))
        assert lines[above + row].ljust(COLS)[col : col + len(text)] == text, cell
    terminal = EmulatedTerminal(COLS, ROWS)
    terminal.write(drawn(board, view, colours=256))
    assert terminal.lines() == [line.rstrip() for line in lines]
    words = pieces_text(board, view)
    assert all(f"{cell} {board.kinds[kind].name}" in words for cell, kind in view.pieces.items())


CHESS_FIGURES = """\
 8  ♜  ♞  ♝  ♛ !♚! ♝  ♞  ♜
 7  ♟  ♟  ♟  ♟  ♟     ♟  ♟
 6    ░░░   ░░░    ♟    ░░░
 5 ░░░   ░░░   ░░░   ░░░[♕]
 4    ░░░   ░░░ ♙ ░░░   ░░░
 3 ░░░   ░░░   ░░░   ░░░
 2  ♙  ♙  ♙  ♙     ♙  ♙  ♙
 1  ♖  ♘  ♗ [ ] ♔  ♗  ♘  ♖
    a  b  c  d  e  f  g  h
♙ White, ♟ Black, ! ! in check, [ ] last move
Black is in check"""


def test_chess_in_figures() -> None:
    """White is outlined, Black filled. Without colours the empty dark squares are shaded; with the
    fixed palette all squares have their colours, and the figures are black.
    """
    position = position_after("chess", {}, "e2e4 f7f6 d1h5")
    board, view = position.game.board({}), position.view()
    assert str(draw_board(board, view, has_figures=True)) == CHESS_FIGURES
    rows = draw_board(board, view, FIXED_COLOURS, has_figures=True).rows
    light, dark, end = "\x1b[38;5;16;48;5;230m", "\x1b[38;5;16;48;5;180m", "\x1b[0m"
    assert rows[5] == f" 3 {f'{dark}   {end}{light}   {end}' * 4}"
    assert rows[0].startswith(f" 8 {light} ♜ {end}{dark} ♞ {end}")
    legend = draw_board(board, view, FIXED_COLOURS, has_figures=True).notes[0]
    assert legend.startswith(f"{dark} ♙ {end} White, {dark} ♟ {end} Black, ")


def test_a_board_whose_kinds_would_look_alike_has_letters() -> None:
    """Figures need a light and a dark side, and a figure for each kind that no other kind has."""
    sides = (SeatView("White", "#ffffff"), SeatView("Black", "#000000"))
    kinds = {"m": Kind("man", 0, text="m"), "b": Kind("black man", 1, text="b")}
    assert piece_figures(BoardView(Grid(2, 2), kinds, sides)) == {"m": "○", "b": "●"}
    queen = Kind("queen", 0, text="q")
    assert piece_figures(BoardView(Grid(2, 2), {**kinds, "q": queen}, sides)) == {}
    heap = Kind("heap", 0, count=3)
    assert piece_figures(BoardView(Grid(2, 2), {**kinds, "3": heap}, sides)) == {}
    red = (SeatView("Red", "#c0392b"), sides[1])
    assert piece_figures(BoardView(Grid(2, 2), kinds, red)) == {}


def test_the_legend_has_the_signs_as_the_board_draws_them() -> None:
    """The sides' own colours where no square is behind the signs; none without colours."""
    chess, othello = (load_game(game_id).start() for game_id in ("chess", "othello"))

    def legend(position: Position, colours: int) -> str:
        board = position.game.board(position.options)
        return draw_board(board, position.view(), colours, has_figures=True).notes[0]

    assert legend(chess, 0) == "♙ White, ♟ Black"
    for position, figures in ((chess, "♙♟"), (othello, "●○")):
        assert position.game.board({}).seats[0].name in legend(position, 8)
        for figure, code in zip(
            figures, side_codes(position.game.board(position.options), 8), strict=True
        ):
            assert f"\x1b[1m\x1b[{code}m{figure}\x1b[0m" in legend(position, 8)
    assert "\x1b[48" not in legend(othello, FIXED_COLOURS)


def test_a_marked_square_of_draughts_keeps_to_itself() -> None:
    """A square has three columns: a mark on an empty one takes the place of its number."""
    position = position_after("draughts", {}, "11-15 22-18 15x22")
    board, view = position.game.board(position.options), position.view()
    row = draw_board(board, view, has_figures=True).rows[4]
    assert row == "16    16    [ ]   14    13   13"
    row = draw_board(board, view, FIXED_COLOURS, has_figures=True).rows[4]
    assert "[ ]\x1b[0m" in row


def test_a_board_has_a_compact_form() -> None:
    """Its cells are as close as they can be, marks included, and no board needs more than 40
    columns.
    """
    position = position_after("hex", {}, "c2 swap f6")
    drawn_board = draw_board(position.game.board(position.options), position.view())
    compact = drawn_board.compact
    assert compact is not None
    assert compact.notes == drawn_board.notes
    assert compact.rows[:4] == (
        "   a b c d e f g h i j k",
        " 1  . . . . . . . . . . .",
        " 2   . . . . . . . . . . .",
        " 3    . B . . . . . . . . .",
    )
    assert compact.rows[6] == " 6       . . . . .[R]. . . . ."
    for game_id in game_ids():
        position = load_game(game_id).start()
        for has_figures in (False, True):
            board = position.game.board(position.options)
            shown = draw_board(board, position.view(), has_figures=has_figures)
            assert shown.compact is not None
            assert shown.compact.width <= min(40, shown.width)
            figures = piece_figures(board) if has_figures else {}
            width = max(map(len, (figures or piece_letters(board)).values()))
            at = sorted(lay_out(board.board, False, width, (0, ROWS)).cells.values())
            for (row, col), (next_row, next_col) in pairwise(at):
                assert next_row > row or next_col - col > width, "pieces stand apart"


@pytest.mark.parametrize("columns", range(30, 60))
@pytest.mark.parametrize("game_id", ["chess", "draughts", "international-draughts", "gomoku"])
def test_a_grid_that_fits_has_wide_cells(game_id: str, columns: int) -> None:
    """The numbers at the ends of rows are a part of what has to fit."""
    position = load_game(game_id).start()
    board = position.game.board(position.options)
    shown = draw_board(board, position.view(), columns=columns)
    assert shown.compact is not None
    assert shown.width <= columns or shown.width == shown.compact.width


@pytest.mark.parametrize("game_id", game_ids())
def test_figures_tell_what_letters_tell(game_id: str) -> None:
    """On every board a figure stands where a letter stood, another one for each kind, with the same
    marks, in as many rows; colours change only how empty squares look.
    """
    rng, game = random.Random(game_id), load_game(game_id)
    position = game.start({})
    while moves := position.moves()[:]:
        board, view = game.board(position.options), position.view()
        letters, figures = draw_board(board, view), draw_board(board, view, has_figures=True)
        assert len(figures.rows) == len(letters.rows)
        assert figures.width <= letters.width + 1
        names = piece_figures(board)
        assert len(set(names.values())) == len(names)
        text = "".join(figures.rows)
        if not names:
            assert figures.notes == letters.notes
            lines = str.maketrans({figure: line for line, figure in LINES.items()})
            assert [row.translate(lines) for row in figures.rows] == list(letters.rows)
        for kind, figure in names.items():
            assert text.count(figure) == list(view.pieces.values()).count(kind)
        for _, right, _ in MARKS.values():
            assert text.count(right) == "".join(letters.rows).count(right)
        terminal = EmulatedTerminal(COLS, ROWS)
        terminal.write(str(draw_board(board, view, FIXED_COLOURS, has_figures=True)))
        shown = terminal.lines()
        plain = [row.replace("░", " ").rstrip() for row in figures.rows]
        assert shown[: len(plain)] == plain
        assert " ".join(shown[len(plain) :]).split() == " ".join(figures.notes).split()
        for _ in range(12):
            if moves:
                position = position.play(rng.choice(moves))
                moves = position.moves()


@pytest.mark.parametrize("game_id", game_ids())
def test_kinds_of_pieces_differ_by_more_than_the_case_of_a_letter(game_id: str) -> None:
    """A reader who hears the text, or sees no colours, can tell all kinds apart."""
    game = load_game(game_id)
    board = game.board(game.start().options)
    texts = [
        piece_letters(board)[name]
        for name, kind in board.kinds.items()
        if kind.shape not in STROKES or kind.text
    ]
    assert len({text.casefold() for text in texts}) == len(texts)


def test_letters_of_sides_are_added_where_letters_of_pieces_are_equal() -> None:
    """Chess adds the letters of the sides; draughts has the letters of man and king too."""
    letters = piece_letters(load_game("chess").board({}))
    assert (letters["N"], letters["n"]) == ("wN", "bN")
    letters = piece_letters(load_game("draughts").board({}))
    assert (letters["w"], letters["W"], letters["B"]) == ("wM", "wK", "bK")
    assert set(piece_letters(load_game("connect-four").board({})).values()) == {"R", "Y"}


# --- boards of these tests

CHESS_BOARD = BoardView(
    Grid(8, 8, style="checker"),
    {
        "K": Kind("white king", 0, text="K"),
        "k": Kind("black king", 1, text="k"),
        "P": Kind("white pawn", 0),
    },
    (SeatView("White", "#ffffff"), SeatView("Black", "#000000")),
)


def test_marks_and_pieces_in_hand_are_explained_below_the_board() -> None:
    view = PositionView(
        {"e1": "K", "e8": "k", "a2": "P"},
        1,
        "Black to move",
        {"check": ("e8",), "hole": ("h8",)},
        ("a1", "a2"),
        {"P": 2},
    )
    assert drawn(CHESS_BOARD, view).split("\n") == [
        " 8   .   .   .   . !bK!  .   .  (.)",
        *[f" {row}   .   .   .   .   .   .   .   ." for row in (7, 6, 5, 4, 3)],
        " 2 [wP]  .   .   .   .   .   .   .",
        " 1  [.]  .   .   .  wK   .   .   .",
        "     a   b   c   d   e   f   g   h",
        "In hand: 2 white pawns",
        "! ! in check, [ ] last move, ( ) hole",
        "Black to move",
    ]  # fmt: skip


def test_the_largest_boards_fit() -> None:
    for grid in (Grid(19, 19), Grid(26, 19)):
        picture = drawn(BoardView(grid, {}, ()), PositionView({}, 0, "")).split("\n")
        assert len(picture) <= ROWS
        assert max(map(len, picture)) <= COLS


def morris_board() -> BoardView:
    """The board of nine men's morris, with points and lines."""
    columns = {1: "adg", 2: "bdf", 3: "cde", 4: "abcefg", 5: "cde", 6: "bdf", 7: "adg"}
    sites = tuple(
        Site(f"{c}{row}", ord(c) - 97, 7 - row, "point")
        for row, names in columns.items()
        for c in names
    )
    rows = "a1 d1 g1, b2 d2 f2, c3 d3 e3, a4 b4 c4, e4 f4 g4, c5 d5 e5, b6 d6 f6, a7 d7 g7"
    files = "a1 a4 a7, b2 b4 b6, c3 c4 c5, d1 d2 d3, d5 d6 d7, e3 e4 e5, f2 f4 f6, g1 g4 g7"
    lines = tuple(tuple(line.split()) for line in f"{rows}, {files}".split(", "))
    return BoardView(
        Sites(sites, lines), {"W": Kind("white", 0, text="W"), "B": Kind("black", 1, text="B")}, ()
    )


def test_a_board_of_points_shows_its_lines() -> None:
    view = PositionView(
        {"a1": "W", "d2": "B", "b4": "W"}, 0, "White to move", {"win": ("a1",)}, ("b4",), {"W": 7}
    )
    assert (
        drawn(morris_board(), view)
        == """\
 7  .-----------.-----------.
    |           |           |
 6  |   .-------.-------.   |
    |   |       |       |   |
 5  |   |   .---.---.   |   |
    |   |   |       |   |   |
 4  .--[W]--.       .---.---.
    |   |   |       |   |   |
 3  |   |   .---.---.   |   |
    |   |       |       |   |
 2  |   .-------B-------.   |
    |           |           |
 1 *W*----------.-----------.
    a   b   c   d   e   f   g
In hand: 7 whites
* * won with this, [ ] last move
White to move"""
    )


def test_lines_and_sticks_are_drawn_at_their_angle() -> None:
    """A kind with a letter of its own shows the letter instead."""
    shapes: tuple[Literal["line", "stick"], ...] = ("line", "stick")
    kinds = {
        f"{shape}{angle}": Kind(shape, 0, shape, angle=angle)
        for shape in shapes
        for angle in (0, 45, 90, 135)
    }
    assert set(shapes) == set(STROKES)
    board = BoardView(Grid(4, 2, labels=False), kinds, ())
    pieces = dict(zip(("a2", "b2", "c2", "d2", "a1", "b1", "c1", "d1"), kinds, strict=True))
    rows = drawn(board, PositionView(pieces, 0, "go")).splitlines()
    assert [row[2:].split()[:4] for row in rows[:2]] == [
        ["-", "\\", "|", "/"],
        ["|", "/", "-", "\\"],
    ]
    board = BoardView(Grid(1, 1), {"x": Kind("line", 0, "line", text="=")}, ())
    assert "=" in drawn(board, PositionView({"a1": "x"}, 0, "go"))


def test_a_mark_is_shown_on_cells_labels_and_buttons() -> None:
    """A mark on a label is on all its cells; one on a button, which has no cell, is spelled out."""
    board = BoardView(Grid(2, 2), {}, (), {"a": ("a1", "a2"), "pass": ()})
    text = drawn(
        board, PositionView({}, 0, "go", marks={"win": ("a",), "last": ("pass",)}, last=("pass",))
    )
    assert text == " 2 *.* .\n 1 *.* .\n    a  b\n* * won with this, pass: last move\ngo"


def test_a_pass_is_shown_as_the_last_move() -> None:
    """In Othello a pass changes nothing on the board, so the legend names it."""
    position = load_game("othello").start()
    for token in ["e6", "f6", "d3", "e7", "e8", "d8", "g6", "f8", "pass"]:
        position = position.play(position.parse_move(token))
    text = drawn(position.game.board(position.options), position.view())
    assert "Black passed" in text
    assert "[" not in text


def test_a_slanted_board_has_its_column_letters_at_the_top() -> None:
    sites = tuple(
        Site(f"{chr(97 + c)}{r + 1}", c + r / 2, r * 0.87, "hex")
        for r in range(3)
        for c in range(3)
    )
    board = BoardView(Sites(sites), {"r": Kind("red", 0)}, ())
    assert (
        drawn(board, PositionView({"b2": "r"}, 1, "Blue to move", last=("b2",)))
        == """\
   a   b   c
 1  .   .   .
 2    .  [R]  .
 3      .   .   .
[ ] last move
Blue to move"""
    )


def test_the_edges_of_each_side_are_named() -> None:
    sites = tuple(
        Site(f"{c}{r + 1}", "ab".index(c) + r / 2, r * 0.87, "hex") for r in range(2) for c in "ab"
    )
    borders = (
        Border(0, ("a1", "b1")),
        Border(0, ("a2", "b2")),
        Border(1, ("a1", "a2")),
        Border(1, ("b1", "b2")),
    )
    kinds = {"r": Kind("red", 0, text="X"), "b": Kind("blue", 1, text="O")}
    board = BoardView(
        Sites(sites, borders=borders), kinds, (SeatView("Red", "#c00"), SeatView("Blue", "#00c"))
    )
    text = drawn(board, PositionView({}, 0, "Red to move"))
    assert "Edges: Red (X) a1-b1, a2-b2; Blue (O) a1-a2, b1-b2" in text


def test_a_flipped_board_is_turned_by_180_degrees() -> None:
    """Rows and columns are reversed; numbered cells show the ends of their rows."""
    board = BoardView(Grid(2, 2), {"r": Kind("red", 0, text="X")}, ())
    assert (
        drawn(board, PositionView({"a1": "r"}, 0, "go"), flip=True)
        == " 1  .  X\n 2  .  .\n    b  a\ngo"
    )
    numbers = (("1", None, "2", None), (None, "3", None, "4"))
    board = BoardView(Grid(4, 2, "top-left", numbers), {"r": Kind("red", 0, text="X")}, ())
    view = PositionView({"1": "r", "4": "r"}, 0, "go")
    assert drawn(board, view) == " 1  X     2       2\n 3     3     X    4\ngo"
    assert drawn(board, view, flip=True) == " 4  X     3       3\n 2     2     X    1\ngo"


def test_cells_whose_ids_are_not_column_and_row_show_their_ids() -> None:
    sites = Sites(
        (Site("A", 1, 0), Site("B", 0, 1), Site("C", 2, 1), Site("D", 1, 2)),
        (("A", "B", "D", "C", "A"),),
    )
    board = BoardView(sites, {"x": Kind("stone", 0, text="*")}, ())
    assert (
        drawn(board, PositionView({"B": "x"}, 0, "go"))
        == """\
      A
     / \\
    *   C
     \\ /
      D
Signs: * stone; empty: A, C, D
go"""
    )


def test_a_piece_of_unknown_kind_is_a_question_mark() -> None:
    assert "?" in drawn(CHESS_BOARD, PositionView({"a1": "dragon"}, 0, ""))


# --- colours, and pieces in words


@pytest.mark.parametrize(
    ("colour", "codes"),
    [
        ("#c0392b", ("31", "38;5;160")),
        ("#e1a700", ("39", "38;5;136")),
        ("#2471a3", ("35", "38;5;31")),
        ("#27ae60", ("39", "38;5;28")),
        ("#1010e0", ("35", "38;5;63")),
        ("#26231f", ("35", "38;5;133")),  # Black
    ],
)
def test_a_colour_maps_to_the_nearest_terminal_colour(colour: str, codes: tuple[str, str]) -> None:
    assert (colour_code(colour, 8), colour_code(colour, 256)) == codes


@pytest.mark.parametrize(
    "colour", ["#ffffff", "#f5f1e6", "#909090", "red", "#xyzxyz", "", "#12345"]
)
def test_light_greys_and_invalid_colours_map_to_the_colour_of_text(colour: str) -> None:
    assert colour_code(colour, 8) == colour_code(colour, 256) == "39"


@pytest.mark.parametrize("game_id", game_ids())
def test_the_sides_of_each_game_have_different_colours(game_id: str) -> None:
    board = load_game(game_id).board(load_game(game_id).start().options)
    assert all(len(set(side_codes(board, colours))) == len(board.seats) for colours in (8, 256))


@pytest.mark.parametrize("colour", ["#ffffff", "#000000", "#c0392b", "#c03a2c"])
def test_sides_of_the_same_colour_differ_on_a_terminal(colour: str) -> None:
    board = BoardView(Grid(1, 1), {}, (SeatView("A", colour), SeatView("B", colour)))
    for colours in (8, 256):
        assert len(set(side_codes(board, colours))) == 2


@pytest.mark.parametrize("code", sorted(fixed for _, fixed in HUES.values()))
def test_the_fixed_colours_can_be_read_on_black_and_on_white(code: str) -> None:
    """Their contrast is at least 3, which WCAG 2 asks of large or bold text."""
    number = int(code.removeprefix("38;5;")) - 16
    steps = (0, 95, 135, 175, 215, 255)
    parts = [steps[number // scale % 6] / 255 for scale in (36, 6, 1)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert (luminance + 0.05) / 0.05 >= 3
    assert 1.05 / (luminance + 0.05) >= 3


def test_pieces_are_listed_in_words() -> None:
    view = PositionView({"e1": "K", "e8": "k", "a2": "P"}, 1, "")
    assert pieces_text(CHESS_BOARD, view) == "e1 white king, a2 white pawn, e8 black king"
    assert pieces_text(CHESS_BOARD, view, "e") == "e1 white king, e8 black king"
    assert pieces_text(CHESS_BOARD, view, "8") == "e8 black king"
    assert pieces_text(CHESS_BOARD, view, "b") == "b is empty."
    assert pieces_text(CHESS_BOARD, view, "z9") == "There is no cell z9."
    assert pieces_text(CHESS_BOARD, PositionView({}, 0, "")) == "The board is empty."


@pytest.mark.parametrize("colours", [8, FIXED_COLOURS])
def test_the_signs_of_sides_below_the_board_have_their_colours(colours: int) -> None:
    """In the edges and the legend of signs, as on the board; none without colours."""
    for game_id, line, moves in (
        ("hex", "Edges: Red ({0}R{2}) a1-k1, a11-k11; Blue ({1}B{2}) a1-a11, k1-k11", "c2"),
        ("rock-paper-scissors", "Signs: {0}f{2} First's, {1}s{2} Second's, R rock,", "rock paper"),
    ):
        position = position_after(game_id, {}, moves)
        board = position.game.board(position.options)
        styles = [f"\x1b[1m\x1b[{code}m" for code in side_codes(board, colours)]
        coloured = draw_board(board, position.view(), colours).notes[0]
        assert coloured.startswith(line.format(*styles, "\x1b[0m"))
        plain = draw_board(board, position.view()).notes[0]
        assert plain.startswith(line.format("", "", ""))


def test_every_cell_has_a_place_of_its_own() -> None:
    for board in (Grid(26, 19), Grid(8, 8, "top-left"), morris_board().board):
        cells = lay_out(board).cells
        assert len(set(cells.values())) == len(cells)


def test_kalah_is_seen_from_both_sides() -> None:
    """North sees the board turned: own houses below, own store at the right. With colours the
    seeds have the colour of the side whose house they lie in.
    """
    position = load_game("kalah").start()
    for token in ["c1", "b1", "f2"]:
        position = position.play(position.parse_move(token))
    board = position.game.board({})
    rows = draw_board(board, position.view(), flip=True).rows
    assert (
        "\n".join(rows)
        == """\
 1  6   6   6   1   .   4
    1                   .
 2 [.]  5   5   5  [5]  4
    f   e   d   c   b   a"""
    )
    south, north = side_codes(board, 256)
    top, _, bottom, _ = draw_board(board, position.view(), 256, flip=True).rows
    assert top.count(f"\x1b[{south}m") == 5
    assert bottom.count(f"\x1b[{north}m") == 5
    assert f"\x1b[{north}m" not in top


def test_a_pass_says_who_passed_unless_nobody_is_to_move() -> None:
    """At the end the last pass has no side that follows it, so the button is named."""
    board = BoardView(
        Grid(1, 1),
        {},
        (SeatView("Red", "#f00"), SeatView("Blue", "#00f")),
        {"pass": (), "roll": ()},
    )
    texts = [
        draw_board(board, PositionView({}, turn, "", last=(label,))).notes[0]
        for turn, label in [(0, "pass"), (1, "roll"), (None, "pass")]
    ]
    assert texts == ["Blue passed", "Red played roll", "pass: last move"]
