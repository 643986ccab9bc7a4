"""The board on the whole terminal: pictures of random positions of every game, and picked cells."""

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest
from msgspec import structs
from rich.color import Color, ColorSystem

from client.terminal.colours import ANSI_COLOURS, FIXED_COLOURS, NO_COLOURS, side_codes
from client.terminal.wrapping import visible_width
from client.tui.panels import large_time, moves_lines
from client.tui.picking import buttons, candidates, choice_keys, next_cells, partner_move, pick
from client.tui.picture import (
    CELL_SIZES,
    Ink,
    Picture,
    Signs,
    cell_size,
    contrast,
    draw_picture,
    half_blocks,
    piece_texts,
    sign_colours,
)
from engine.rules.registry import game_ids, load_game
from engine.view import BoardView, MoveView, PositionView, cell_ids
from server.protocol.messages import Played

#: The space for a board on a screen of 80 by 24, above the lines of text.
COLUMNS, ROWS = 80, 17


@cache
def playout(
    game_id: str,
) -> tuple[BoardView, tuple[tuple[PositionView, tuple[MoveView, ...]], ...]]:
    """The board of a game, and some positions of a random match with their moves."""
    game = load_game(game_id)
    position, rng = game.start(), random.Random(game_id)
    seen = []
    for _ in range(60):
        seen.append((position.view(), tuple(position.move_views())))
        if not (tokens := position.tokens()):
            break
        position = position.play(position.parse_move(rng.choice(tokens)))
    kept = [*seen[:3], *seen[3:-1:9], seen[-1]]
    return game.board(position.options), tuple(kept)


def texts_of(picture: Picture) -> list[str]:
    return ["".join(text for text, _ in row) for row in picture.rows]


def pictures(game_id: str) -> Iterator[tuple[BoardView, PositionView, Picture, bool]]:
    """Pictures of the positions in each way: with signs or without, turned, in letters."""
    board, positions = playout(game_id)
    for number, (view, moves) in enumerate(positions):
        flip, is_ascii = number % 2 == 1, number % 3 == 1
        size = cell_size(board, flip, COLUMNS, ROWS, is_ascii)
        cells = sorted(next_cells(moves, (), board.targets))
        signs = [Signs()]
        if cells:
            signs.append(Signs(cells[0], (cells[-1],), frozenset(cells), {cells[0]: "A"}))
        for each in signs:
            colours = NO_COLOURS if number % 2 else FIXED_COLOURS
            picture = draw_picture(
                board, view, size, flip=flip, colours=colours, is_ascii=is_ascii, signs=each
            )
            yield board, view, picture, is_ascii


@pytest.mark.parametrize("game_id", game_ids())
def test_nothing_overlaps(game_id: str) -> None:
    """On 80 columns every piece of every position stands whole in its own cell, and all fit."""
    for board, view, picture, is_ascii in pictures(game_id):
        texts, lines = piece_texts(board, is_ascii), texts_of(picture)
        assert picture.width <= COLUMNS
        assert all(visible_width(line) == picture.width for line in lines)
        places: dict[tuple[int, int], str] = {}
        if all(cell.isdigit() for cell in picture.boxes):  # no number stands twice in a row
            for line in lines:
                numbers = re.findall(r"\d+", line)
                assert len(numbers) == len(set(numbers)), line
        for cell, kind in view.pieces.items():
            box = picture.boxes[cell]
            row, end = box.row + box.height // 2, box.col + box.width // 2 + 1
            text = texts[kind]
            assert lines[row][end - len(text) : end] == text, f"{cell} in\n" + "\n".join(lines)
            for col in range(end - len(text), end):
                assert places.setdefault((row, col), cell) == cell


@pytest.mark.parametrize("game_id", game_ids())
def test_each_cell_can_be_clicked_and_walked_to(game_id: str) -> None:
    """The middle of a cell is its place for the mouse; the arrow keys reach every cell."""
    _, _, picture, _ = next(pictures(game_id))
    for cell, box in picture.boxes.items():
        assert picture.cell_at(box.row + box.height // 2, box.col + box.width // 2) == cell
    assert picture.cell_at(-9, 0) is None
    waiting, reached = [next(iter(picture.boxes))], set[str]()
    while waiting:
        cell = waiting.pop()
        if cell not in reached:
            reached.add(cell)
            directions = ((-1, 0), (1, 0), (0, -1), (0, 1))
            waiting += [picture.neighbour(cell, *direction) for direction in directions]
    assert reached == set(picture.boxes)


def test_a_picture_says_without_colours_what_it_says_with_them() -> None:
    """Colours change no character: marks, the cursor and pieces are signs."""
    board, positions = playout("chess")
    for view, moves in positions:
        cells = sorted(next_cells(moves, (), board.targets)) or ["a1"]
        signs = Signs(cells[0], (cells[-1],), frozenset(cells))
        plain, coloured = (
            draw_picture(board, view, (2, 1), colours=colours, is_ascii=True, signs=signs)
            for colours in (NO_COLOURS, FIXED_COLOURS)
        )
        empty = str.maketrans(".+", "  ")
        assert [line.translate(empty) for line in texts_of(plain)] == [
            line.translate(empty) for line in texts_of(coloured)
        ]
        assert not any(ink.colour or ink.ground for row in plain.rows for _, ink in row)


#: xterm's own eight colours, which are the hardest to read among the usual ones.
XTERM = (
    "#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"
)  # fmt: skip
#: Text and background of a dark and of a light terminal.
PAPERS = (("#e5e5e5", "#000000"), ("#000000", "#ffffff"))


def on_terminal(name: str, default: str, is_exact: bool) -> str:
    """A colour of an ink as a terminal shows it, which has all colours or the palette."""
    if not name:
        return default
    colour = Color.parse(name) if is_exact else Color.parse(name).downgrade(ColorSystem.EIGHT_BIT)
    if colour.number is not None and colour.number < len(XTERM):
        return XTERM[colour.number]
    return colour.get_truecolor().hex


def contrasts(picture: Picture, is_text: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    """The contrast of each character that is not faint, on each terminal, in the units of its
    limit: 4.5 for text, 3 for signs and pieces (WCAG 2.2, 1.4.3 and 1.4.11).
    """
    runs = {run for row in picture.rows for run in row if run[0].strip() and not run[1].is_dim}
    for text, ink in runs:
        for (paper_text, paper), is_exact in product(PAPERS, (True, False)):
            colour = on_terminal(ink.colour, paper_text, is_exact)
            ground = on_terminal(ink.ground, paper, is_exact)
            if ink.is_reversed:
                colour, ground = ground, colour
            yield text, contrast(colour, ground) / (4.5 if is_text(text.strip()) else 3)


@pytest.mark.parametrize("game_id", game_ids())
def test_each_piece_and_sign_can_be_read_on_each_cell(game_id: str) -> None:
    """In 8, 256 and all colours, on dark and on light terminals, in each state of a cell, every
    piece on every cell has a contrast of at least 3, and coordinates have one of at least 4.5.
    """
    board, positions = playout(game_id)
    size = cell_size(board, False, COLUMNS, ROWS, False)
    cells = tuple(cell_ids(board.board))
    texts = set(piece_texts(board, False).values())
    states = [
        ({}, Signs()),
        *[({mark: cells}, Signs()) for mark in ("last", "win", "check")],
        ({}, Signs(next_cells=frozenset(cells), letters=dict.fromkeys(cells, "A"))),
        ({}, Signs(picked=cells, drawn_by=dict.fromkeys(cells, 1))),
        *[({}, Signs(cursor=cell)) for cell in cells[:2]],
    ]
    views = [PositionView(dict.fromkeys(cells, kind), 0, "") for kind in board.kinds]
    for view in [*views, PositionView({}, 0, ""), positions[-1][0]]:
        for (marks, signs), colours in product(states, (NO_COLOURS, ANSI_COLOURS, FIXED_COLOURS)):
            marked = structs.replace(view, marks=marks)
            picture = draw_picture(board, marked, size, colours=colours, signs=signs)
            for text, ratio in contrasts(
                picture, lambda text: text.isalnum() and text not in texts and text != "A"
            ):
                assert ratio >= 1, f"{text!r} {ratio:.2f} {marks and next(iter(marks))} {signs}"


def test_coordinates_are_not_faint() -> None:
    """A terminal may show faint text at half its contrast."""
    for game_id in game_ids():
        board, positions = playout(game_id)
        for row in draw_picture(board, positions[0][0], (4, 2), colours=FIXED_COLOURS).rows:
            assert not any(ink.is_dim and text.strip().isalnum() for text, ink in row)


def test_dots_stand_out_and_lines_have_the_colour_of_who_drew_them() -> None:
    """A line that may be drawn is fainter than the dots at its ends; a drawn one is stronger."""
    position = load_game("dots-and-boxes").start()
    position = position.play(position.parse_move("a1b1"))
    position = position.play(position.parse_move("a1a2"))
    board, view = position.game.board(position.options), position.view()
    free = frozenset(position.tokens())
    signs = Signs(next_cells=free, drawn_by={"a1b1": 0, "a1a2": 1})
    picture = draw_picture(board, view, (4, 2), colours=FIXED_COLOURS, signs=signs)
    inks: dict[str, set[Ink]] = {}
    for row in picture.rows:
        for text, ink in row:
            for character in text:
                inks.setdefault(character, set()).add(ink)
    assert inks["•"] == {Ink(is_bold=True)}
    assert inks["·"] == {Ink(is_dim=True)}
    red, blue = (f"color({code.split(';')[-1]})" for code in side_codes(board, FIXED_COLOURS))
    assert inks["━"] == {Ink(red, is_bold=True)}
    assert inks["┃"] == {Ink(blue, is_bold=True)}


def test_the_signs_beside_the_board_look_like_its_pieces() -> None:
    """Black on felt is black, so that its sign is that of text; where there is no ground, and for
    sides of a colour, the sign has the hue of the pieces.
    """
    colours = {
        game_id: sign_colours(playout(game_id)[0], FIXED_COLOURS)
        for game_id in ("othello", "draughts", "connect-four", "nine-mens-morris", "hex")
    }
    assert colours["othello"] == colours["draughts"] == ["", ""]
    assert colours["connect-four"] == ["color(160)", "color(136)"]
    assert colours["nine-mens-morris"] == ["", "color(133)"]
    assert colours["hex"] == ["color(160)", "color(31)"]
    assert sign_colours(playout("othello")[0], ANSI_COLOURS) == ["color(5)", ""]


def test_the_letters_of_a_hint_stand_on_their_cells() -> None:
    """In the row of the cell: in place of an empty cell's sign, else close to the piece, left of
    its marks where there is space.
    """
    game = load_game("chess")
    view = structs.replace(game.start().view(), marks={"last": ("b1",)})
    signs = Signs(letters={"e2": "1", "e4": "1", "b1": "2"})
    for size, fourth, second, first in (
        ((4, 2), "4                   1", "2   ♙   ♙   ♙   ♙  1♙", "1   ♖ 2[♘]  ♗"),
        ((2, 1), "4          1", "2  ♙ ♙ ♙ ♙1♙", "1  ♖2♘]♗"),
    ):
        texts = texts_of(draw_picture(game.board({}), view, size, signs=signs))
        shown = {line.strip()[:1]: line.strip().replace("·", " ") for line in texts}
        assert shown["4"].rstrip() == fourth
        assert shown["2"].startswith(second)
        assert shown["1"].startswith(first)
    draughts = load_game("draughts")
    signs = Signs(letters={"11": "1", "15": "1", "9": "2", "13": "2"})
    texts = texts_of(draw_picture(draughts.board({}), draughts.start().view(), (4, 2), signs=signs))
    assert "16      (1)     14      (2)" in "\n".join(texts)
    assert "12   ●      1●       ●      2●" in "\n".join(texts)


def test_the_largest_cells_that_fit() -> None:
    """6x3, 4x2 or 2x1 characters by the space; two letters need three columns."""
    board, _ = playout("chess")
    sizes = [cell_size(board, False, *space, False) for space in ((60, 30), (60, 20), (20, 9))]
    assert tuple(sizes) == CELL_SIZES
    assert cell_size(board, False, 20, 9, False) == cell_size(board, False, 5, 3, False)
    assert cell_size(board, False, 30, 9, True) == (3, 1)


def test_a_winning_row_has_all_its_marks() -> None:
    """Each piece of it stands between two marks, at the edge and with the last move too."""
    position = load_game("tic-tac-toe").start()
    for token in ["c1", "c2", "b1", "b2", "a1"]:
        position = position.play(position.parse_move(token))
    board = position.game.board(position.options)
    for size, row in zip(CELL_SIZES, ("*X*   *X*   *X*", "*X* *X* *X*", "*X*X*X*"), strict=True):
        assert row in [
            line.strip(" 1") for line in texts_of(draw_picture(board, position.view(), size))
        ]


def test_castling_is_picked_as_king_and_own_rook_too() -> None:
    """On either wing, if it is legal; a rook that does not castle with the king is none's."""
    game = load_game("chess")
    for rights, expected in (("KQkq", {"h1": "e1g1", "a1": "e1c1"}), ("Q", {"a1": "e1c1"})):
        position = game.position(f"r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w {rights} - 0 1")
        for cell in ("a1", "h1", "e2", "e8", "f1", "d5"):
            move = partner_move(
                game.board({}), position.view(), position.move_views(), ("e1",), cell
            )
            assert (move.id if move is not None else None) == expected.get(cell)
        views = position.move_views()
        assert partner_move(game.board({}), position.view(), views, ("h1",), "e1") is None


@pytest.mark.parametrize("game_id", game_ids())
def test_only_castling_is_picked_by_an_own_piece(game_id: str) -> None:
    """No other game has a move that a cell with an own piece stands for."""
    board, positions = playout(game_id)
    for view, moves in positions:
        for first, cell in product(cell_ids(board.board), repeat=2):
            move = partner_move(board, view, moves, (first,), cell)
            assert move is None or game_id == "chess"


@pytest.mark.parametrize("game_id", game_ids())
def test_every_move_can_be_picked(game_id: str) -> None:
    """Picking the cells of a move's path ends with that move among the finished ones."""
    board, positions = playout(game_id)
    for view, moves in positions:
        beside = buttons(moves, board.targets)
        for move in moves[:20]:
            if move in beside:
                continue
            selection: tuple[str, ...] = ()
            finished: tuple[MoveView, ...] = ()
            for element in move.path:
                cells = board.targets.get(element, (element,))
                free = [cell for cell in cells if cell not in view.pieces] or list(cells)
                assert free[0] in next_cells(moves, selection, board.targets)
                result = pick(moves, selection, free[0], board.targets)
                selection, finished = result.selection, result.finished
            if not finished:  # the path is the beginning of longer ones
                finished = pick(moves, selection, selection[-1], board.targets).finished
            assert move in finished
            assert len({each.path for each in finished}) == 1


def test_picking_beside_the_moves() -> None:
    """A cell of no move drops the selection, one of another move starts a new selection."""
    moves = (MoveView("a1b2", ("a1", "b2"), "a1b2"), MoveView("c1d2", ("c1", "d2"), "c1d2"))
    assert pick(moves, (), "h8", {}).selection == ()
    assert pick(moves, ("a1",), "c1", {}).selection == ("c1",)
    assert pick(moves, ("a1",), "h8", {}).selection == ()
    assert pick(moves, ("a1",), "a1", {}) == pick(moves, (), "h8", {})
    assert candidates(moves, ("a1",), {}) == [moves[0]]


def test_keys_of_choices() -> None:
    """Moves of one path have the first letters of their choices as keys, else numbers."""
    queen, rook, knight = (
        MoveView(f"a7a8{word[0]}", ("a7", "a8"), "a8", word) for word in ("queen", "rook", "knight")
    )
    assert choice_keys((queen, rook, knight)) == {"q": queen, "r": rook, "k": knight}
    again = MoveView("x", ("a7", "a8"), "a8", "quiet")
    assert choice_keys((queen, again)) == {"1": queen, "2": again}


def test_a_qr_code_in_half_blocks() -> None:
    """Two rows of modules are a line; dark modules are left out, as on a dark terminal."""
    assert half_blocks([[0, 1], [1, 1], [0, 0]]) == ["▀ ", "██"]


def test_moves_that_are_counted_by_plies_are_in_pairs() -> None:
    """As those that are counted by turns, where two fit; a number of its own is kept."""
    plies, turns = [Played("d"), Played("e"), Played("d")], [Played("e4", number="1.")]
    assert moves_lines(plies, 30) == ["1. d          2. e", "3. d"]
    assert moves_lines(plies, 8) == ["1. d", "2. e", "3. d"]
    turns.append(Played("e5", number="1..."))
    assert moves_lines(turns, 30) == ["1. e4         e5"]


def test_large_times() -> None:
    """Each digit is three columns wide and three rows high; other characters keep their size."""
    assert large_time("14:0") == (" ╻ ╻ ╻ ┏━┓", " ┃ ┗━┫:┃ ┃", " ╹   ╹ ┗━┛")
    for digit in "0123456789":
        assert [len(row) for row in large_time(digit)] == [3, 3, 3]
    assert large_time("x") == (" ", "x", " ")
