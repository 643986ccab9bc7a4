"""engine/formats/read: the games of other programs come in as they were, or are named where not."""

import random
import time
from collections.abc import Iterator
from io import StringIO

import chess
import chess.pgn
import draughts
import pytest
from draughts.PDN import PDNWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.formats.read import pgn
from engine.formats.read.files import read_games
from engine.formats.read.pgn import parse_pgn
from engine.formats.read.positions import read_position
from engine.formats.read.san import SanReader
from engine.formats.record import BadGame, GameRecord
from engine.game import Position
from engine.rules.registry import load_game

#: The results of files, and which of the two players has won.
RESULTS = {"1-0": 0, "0-1": 1, "1/2-1/2": None}
IN_POINTS = {"2-0": 0, "0-2": 1, "1-1": None}


def final_position(game: GameRecord) -> Position:
    """The position after the last move."""
    position = load_game(game.game).position(game.start, game.options)
    for move in game.moves:
        position = position.replay(move.token)
    return position


# --- python-chess


def chess_game(seed: int, plies: int = 160) -> chess.pgn.Game:
    """A game of python-chess' making: random moves, with headers, comments, variations, clocks."""
    rng = random.Random(seed)
    board = chess.Board()
    if seed % 4 == 1:
        for _ in range(rng.randrange(40)):
            if not board.is_game_over():
                board.push(rng.choice(list(board.legal_moves)))
        board = chess.Board(board.fen(en_passant="legal"))
    game = chess.pgn.Game()
    game.setup(board)
    game.headers["White"] = rng.choice(("Ann", "Zoë Ünal", "O'Neill, B. (2)", "棋士"))
    game.headers["Black"] = "Bob"
    game.headers["WhiteElo"] = f"{rng.randrange(3000)}"
    if rng.random() < 0.2:
        game.comment = "before the first move"
    node: chess.pgn.GameNode = game
    clock_s = 600.0
    for _ in range(rng.randrange(plies)):
        moves = list(board.legal_moves)
        if board.is_game_over() or not moves:
            break
        move = rng.choice(moves)
        child = node.add_main_variation(move)
        kind = rng.randrange(12)
        if kind == 0:
            child.comment = "words with ) and ] of it"
        elif kind == 1:
            child.nags.add(rng.choice((1, 2, 5, 18, 146)))
        elif kind == 2:
            clock_s -= rng.randrange(90) / 10
            child.set_clock(max(0.0, clock_s))
        elif kind == 3 and len(moves) > 1:
            other = rng.choice([each for each in moves if each != move])
            side = node.add_variation(other)
            side.comment = "or {this".replace("{", "")
            board.push(other)
            if replies := list(board.legal_moves):
                side.add_variation(replies[0])
            board.pop()
        board.push(move)
        node = child
    outcome = board.outcome()
    result = board.result() if outcome else rng.choice((*RESULTS, "*"))
    game.headers["Result"] = result
    return game


def check_chess(seeds: range, plies: int = 160) -> None:
    """Asserts that the games of these seeds come in equal, in one file."""
    games = [chess_game(seed, plies) for seed in seeds]
    content = "\n\n".join(map(str, games)).encode()
    found = list(
        read_games((content[i : i + 4096] for i in range(0, len(content), 4096)), load_game)
    )
    assert len(found) == len(games)
    for game, record in zip(games, found, strict=True):
        assert isinstance(record, GameRecord), (str(record), str(game))
        nodes = list(game.mainline())
        board = game.board()
        assert record.start == board.fen(en_passant="legal")
        assert [move.token for move in record.moves] == [node.move.uci() for node in nodes]
        for node, move in zip(nodes, record.moves, strict=True):
            assert move.text == node.san()
            assert set(move.nags) == node.nags
            clock_s = node.clock()
            assert move.clock_ms == (None if clock_s is None else round(clock_s * 1000))
            words = move.comment.split("\n")[0] if node.comment else ""
            assert words == ("" if clock_s is not None else node.comment)
            assert node.parent is not None
            assert move.comment.count("(") == len(node.parent.variations) - 1
        assert final_position(record).text() == game.end().board().fen(en_passant="legal")
        assert [seat.name for seat in record.seats] == [game.headers["White"], "Bob"]
        assert record.tags == {"WhiteElo": game.headers["WhiteElo"]}
        assert record.comment == game.comment
        result = game.headers["Result"]
        assert (record.over is None) == (result == "*")
        if record.over is not None:
            assert record.over.winner == RESULTS[result], str(game)


def test_games_of_python_chess_come_in_equal() -> None:
    """Moves, notation, start, end, tags, result, comments, annotations, clocks are the same."""
    check_chess(range(50), 80)


#: Words in the form of the standard, legal or not.
WORDS = [
    *(letter + square for letter in ("", *"NBRQK") for square in chess.SQUARE_NAMES),
    *(
        f"{file}x{square}"
        for file in "abcdefgh" for square in chess.SQUARE_NAMES if square[0] != file
    ),
]  # fmt: skip


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_only_legal_moves_are_read_at_once(seed: int) -> None:
    """The fast reader plays a word exactly where python-chess does, and the same move."""
    rng = random.Random(seed)
    board = chess.Board()
    for _ in range(rng.randrange(90)):
        if not board.is_game_over():
            board.push(rng.choice(list(board.legal_moves)))
    start = load_game("chess").position(board.fen(en_passant="legal"))
    if start.outcome() is not None:
        return
    for word in WORDS:
        try:
            wanted = board.parse_san(word)
        except ValueError:
            wanted = None
        reader = SanReader(start)
        if reader.read_plain(word):
            assert wanted is not None, (board.fen(), word)
            assert reader.moves[0].token == wanted.uci()
            assert reader.moves[0].text == board.san(wanted)
        else:
            # En passant is for the reader of typed moves.
            assert wanted is None or board.is_en_passant(wanted), (board.fen(), word)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(100, 2100, 250))
def test_thousands_of_games_of_python_chess_come_in_equal(first: int) -> None:
    """The same for 2,000 games."""
    check_chess(range(first, first + 250))


# --- pydraughts


def draughts_game(seed: int, plies: int) -> tuple[str, draughts.Board, str]:
    """The text of a game of pydraughts' making, its last board and its result."""
    rng = random.Random(seed)
    variant = ("standard", "english")[seed % 2]
    board = draughts.Board(variant=variant, fen="startpos")
    for _ in range(rng.randrange(2, plies)):
        moves = list(board.legal_moves())
        if not moves or board.is_over():
            break
        board.push(rng.choice(moves))
    result = rng.choice((*RESULTS, *IN_POINTS, "*"))
    tags = {"White": "Wim", "Black": "Bea", "Result": result}
    return PDNWriter("", board, tags=tags, game_ending=result).pdn_text, board, result


def pieces_of(game: str, text: str) -> str:
    """The side to move and the pieces of a position, without counters."""
    return read_position(load_game(game), text).position.text().partition(":H")[0]


def check_draughts(seeds: range, plies: int) -> None:
    """Asserts that the games of these seeds come in equal, in one file."""
    made = [draughts_game(seed, plies) for seed in seeds]
    content = "".join(text for text, _, _ in made).encode()
    found = list(read_games([content], load_game))
    assert len(found) == len(made)
    for (text, board, result), record in zip(made, found, strict=True):
        assert isinstance(record, GameRecord), (str(record), text)
        is_english = board.variant == "english"
        assert record.game == ("draughts" if is_english else "international-draughts")
        assert len(record.moves) == len(board.move_stack), text
        assert pieces_of(record.game, final_position(record).text()) == pieces_of(
            record.game, board.fen
        ), text
        names = ["Bea", "Wim"] if is_english else ["Wim", "Bea"]
        assert [seat.name for seat in record.seats] == names
        if record.over is not None and record.over.how != "board":
            winner = (RESULTS | IN_POINTS)[result]
            wanted = None if winner is None else names.index(("Wim", "Bea")[winner])
            assert record.over.winner == wanted, text


def test_games_of_pydraughts_come_in_equal() -> None:
    """Moves, last position, names by side and result of both games of draughts are the same."""
    check_draughts(range(6), 40)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(100, 1100, 50))
def test_a_thousand_games_of_pydraughts_come_in_equal(first: int) -> None:
    """The same for 1,000 games."""
    check_draughts(range(first, first + 50), 90)


# --- a bad game among good ones


def numbered_games(count: int, bad: int, bad_text: str) -> Iterator[bytes]:
    """A file of games, of which one is bad."""
    for number in range(1, count + 1):
        text = bad_text if number == bad else "1. e4 e5 2. Nf3 Nc6 1-0"
        yield f'[Event "{number}"]\n[Result "1-0"]\n\n{text}\n\n'.encode()


#: Bad games, and what is named of them: the line within the game, the column, what stands there.
BAD = {
    "1. e4 e5 2. Nf3 Nc6 3. Bb6 a6 1-0": (4, 24, "Bb6"),
    "1. e4 e5\n2. Nf3 {never closed": (5, 8, "{never closed"),
    "1. e4 (1. d4 (1. c4 d5) 1-0": (4, 7, "(1. d4 (1. c4 d5) 1-0"),
    "1. e4 e5 2. Nf3 Nc6 0-1": (4, 21, "0-1"),
    "1. e4 -- 2. d4 1-0": (4, 7, "--"),
    "1. e4 e5 2. N\x00f3": (4, 14, "\x00"),
}


@pytest.mark.parametrize("text", BAD)
def test_one_bad_game_in_the_middle_of_many(text: str) -> None:
    """It is named to the column, and all the others are read whole."""
    line, column, found = BAD[text]
    count = 1000 if "Bb6" in text else 30
    middle = count // 2
    games = list(parse_pgn(numbered_games(count, middle, text), load_game))
    bad = [game for game in games if isinstance(game, BadGame)]
    assert [(game.number, game.line, game.column, game.found) for game in bad] == [
        (middle, (middle - 1) * 5 + line, column, found)
    ]
    good = [game for game in games if isinstance(game, GameRecord)]
    assert [game.tags["Event"] for game in good] == [
        f"{i}" for i in range(1, count + 1) if i != middle
    ]
    assert {len(game.moves) for game in good} == {4}


def test_reading_ends_after_many_bad_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of bad games only costs a bounded time: the last entry says that the rest is left."""
    monkeypatch.setattr(pgn, "MAX_BAD", 5)
    games = list(parse_pgn([b"1. e5 * " * 100], load_game))
    assert len(games) == 6
    assert "fewer than 5 bad games; the rest is not read" in str(games[-1])


# --- speed


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pgn_is_read_at_half_the_speed_of_python_chess() -> None:
    """At least 0.5 of the games a second of `chess.pgn.read_game`, in CPU time of one run."""
    texts = [str(chess_game(seed)) for seed in range(2, 200, 4)]
    content = "\n\n".join(texts).encode()
    own_s, peer_s = [], []
    for _ in range(7):
        begun = time.thread_time()
        games = list(parse_pgn([content], load_game))
        own_s.append(time.thread_time() - begun)
        begun = time.thread_time()
        peers = [chess.pgn.read_game(StringIO(text)) for text in texts]
        peer_s.append(time.thread_time() - begun)
        assert len(games) == len(peers)
    print(f"{len(texts) / min(own_s):.0f} games/s, python-chess {len(texts) / min(peer_s):.0f}")
    assert min(peer_s) / min(own_s) >= 0.5
