"""The board on the whole terminal: pictures of random positions of every game, and picked cells."""

import random
import re
from collections.abc import Iterator
from functools import cache

import pytest

from client.terminal.colours import FIXED_COLOURS, NO_COLOURS
from client.terminal.wrapping import visible_width
from client.tui.panels import large_time, moves_lines
from client.tui.picking import buttons, candidates, choice_keys, next_cells, pick
from client.tui.picture import (
    CELL_SIZES,
    Picture,
    Signs,
    cell_size,
    draw_picture,
    half_blocks,
    piece_texts,
)
from engine.rules.registry import game_ids, load_game
from engine.view import BoardView, MoveView, PositionView
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
