"""engine/formats: what other programs read in our files is the game that was played."""

import io
import re
from collections.abc import Iterator
from typing import Any

import chess
import chess.pgn
import draughts
import msgspec
import pytest
from draughts.PDN import PDNReader
from hypothesis import given
from hypothesis import strategies as st
from sgfmill import sgf_grammar

from engine.formats.json_lines import format_json_line, parse_json_lines
from engine.formats.othello_texts import format_ggf, format_transcript
from engine.formats.pdn import format_pdn
from engine.formats.pgn import ROSTER, format_pgn
from engine.formats.record import BadGame, GameRecord, Move, Over, Seat, Unwritable, standard_start
from engine.formats.registry import FORMATS, formats_of
from engine.formats.sgf import format_sgf
from engine.game import Position, UnknownGame
from engine.rules.registry import game_ids, load_game
from tests.support.game_records import random_record


def final_position(record: GameRecord) -> Position:
    """The position after the last move."""
    position = load_game(record.game).position(record.start, record.options)
    for move in record.moves:
        position = position.replay(move.token)
    return position


def expected_result(record: GameRecord, white: int) -> str:
    """The result of PGN, where White has this seat."""
    over = record.over
    if over is None or over.how in ("abort", "failure", "noshow"):
        return "*"
    return "1/2-1/2" if over.winner is None else "1-0" if over.winner == white else "0-1"


def plain_value(text: str) -> str:
    """The text as the value of a tag can have it."""
    return "".join(each if each.isprintable() else " " for each in text)


# --- PGN: python-chess


def in_ms(seconds: float | None) -> int | None:
    """A time that python-chess reads as a float of seconds."""
    return None if seconds is None else round(1000 * seconds)


def check_chess(records: list[GameRecord]) -> None:
    """Asserts that python-chess reads these games from one file as they were played."""
    texts = [format_pgn(record, load_game) for record in records]
    file = io.StringIO("".join(texts))
    for record, text in zip(records, texts, strict=True):
        read = chess.pgn.read_game(file)
        assert read is not None
        assert not read.errors, (text, read.errors)
        assert read.end().board().fen() == final_position(record).text(), text
        assert read.headers["Result"] == expected_result(record, white=0)
        # python-chess keeps the backslashes before quotation marks and backslashes.
        names = [re.sub(r"\\(.)", r"\1", read.headers[tag]) for tag in ("White", "Black")]
        assert names == [plain_value(seat.name) for seat in record.seats]
        assert list(read.headers)[:7] == list(ROSTER)
        assert read.headers.get("FEN", chess.STARTING_FEN) == record.start
        for node, move in zip(read.mainline(), record.moves, strict=True):
            assert (node.nags, node.move.uci()) == (set(move.nags), move.token)
            spent_s, clock_s, score = node.emt(), node.clock(), node.eval()
            assert in_ms(spent_s) == move.spent_ms
            assert in_ms(clock_s) == move.clock_ms
            assert (score is None) == (move.eval is None)
        assert max(map(len, text.splitlines()[text.splitlines().index("") :])) <= 79
    assert chess.pgn.read_game(file) is None


def chess_records(count: int, plies: int) -> list[GameRecord]:
    return [
        random_record("chess", seed, plies, is_plain=seed % 3 == 0, is_set_up=seed % 2 == 1)
        for seed in range(count)
    ]


def test_python_chess_reads_our_games() -> None:
    """python-chess reads chess as it was played: moves, start, result, names, clocks, times."""
    check_chess(chess_records(24, 50))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_python_chess_reads_thousands_of_our_games() -> None:
    """The same for 2,000 games of up to 300 plies."""
    check_chess(chess_records(2000, 300))


def test_a_chess_game_is_written_as_the_standard_says() -> None:
    """The text of a game: tags in order, numbers after comments, the reason at the end."""
    seats = (Seat("Ada", "guest"), Seat("AI level 3", "ai", 3))
    moves = (
        Move("f2f3", "f3", 1200), Move("e7e5", "e5", nags=(1,)),
        Move("g2g4", "g4", eval="#-1", comment="oh {no}"), Move("d8h4", "Qh4#", 400),
    )  # fmt: skip
    record = GameRecord(
        "m7", "chess", {}, "abc", chess.STARTING_FEN, seats, moves, Over(1, "board", "checkmate"),
        1_700_000_000_000, tags={"Event": "Club", "Opening": "Barnes"},
    )  # fmt: skip
    assert format_pgn(record, load_game) == (
        '[Event "Club"]\n[Site "?"]\n[Date "2023.11.14"]\n[Round "?"]\n[White "Ada"]\n'
        '[Black "AI level 3"]\n[Result "0-1"]\n[Match "m7"]\n[Rules "abc"]\n'
        '[UTCDate "2023.11.14"]\n[UTCTime "22:13:20"]\n[WhiteType "human"]\n'
        '[BlackType "program"]\n[Opening "Barnes"]\n[TimeControl "-"]\n[Termination "normal"]\n\n'
        "1. f3 {[%emt 0:00:01.2]} 1... e5 $1 2. g4 {[%eval #-1] oh (no)} 2... Qh4#\n"
        "{[%emt 0:00:00.4] checkmate} 0-1\n\n"
    )


def test_a_start_in_which_the_second_side_moves_says_so() -> None:
    """The first number has three dots where Black begins in chess, and where the side begins that
    does not usually begin in draughts; chess counts on from its FEN.
    """
    seats = (Seat("a"), Seat("b"))
    chess_record = GameRecord(
        "", "chess", {}, "", "4k3/8/8/8/8/8/8/R3K3 b - - 3 41", seats,
        (Move("e8d7", "Kd7"), Move("a1a7", "Ra7+")),
    )  # fmt: skip
    assert format_pgn(chess_record, load_game).endswith("\n\n41... Kd7 42. Ra7+ *\n\n")
    for game, turn, moves, text in (
        ("draughts", "W", ("22-18", "11-15"), "1... 22-18 2. 11-15 *"),
        ("draughts", "B", ("11-15", "22-18"), "1. 11-15 22-18 *"),
        ("international-draughts", "W", ("22-18", "11-15"), "1. 22-18 11-15 *"),
    ):
        record = GameRecord(
            "", game, {}, "", f"{turn}:W22:B11:H0", seats,
            tuple(Move(move, move) for move in moves),
        )  # fmt: skip
        written = format_pdn(record, load_game)
        assert written.endswith(f"\n\n{text}\n\n")
        assert f'[SetUp "1"]\n[FEN "{turn}:W22:B11"]\n' in written


def test_old_moves_are_replayed_for_their_notation() -> None:
    """Moves that a log has without notation are written in notation all the same."""
    record = random_record("chess", 1, 20, is_plain=True)
    old = [Move(move.token, None, move.spent_ms) for move in record.moves]
    assert format_pgn(msgspec.structs.replace(record, moves=tuple(old)), load_game) == format_pgn(
        record, load_game
    )


@pytest.mark.parametrize(
    ("game", "tags"),
    [
        ("chess", 'White "a" Black "b" Result "1-0"'),
        ("draughts", 'White "b" Black "a" Result "0-1"'),
        ("international-draughts", 'White "a" Black "b" Result "1-0"'),
        ("othello", 'White "b" Black "a" Result "0-1"'),
        ("gomoku", 'White "b" Black "a" Result "0-1"'),
        ("breakthrough", 'White "a" Black "b" Result "1-0"'),
        ("hex", 'First "a" Second "b" Result "1-0"'),
        ("connect-four", 'First "a" Second "b" Result "1-0"'),
    ],
)  # fmt: skip
def test_white_is_the_side_of_that_name(game: str, tags: str) -> None:
    """White and Black name the players of these sides, whoever begins; 1-0 is White's win."""
    record = msgspec.structs.replace(
        random_record(game, 2, 1, is_plain=True), seats=(Seat("a"), Seat("b")), over=Over(0)
    )
    written = re.findall(
        r'\[(?:White|Black|First|Second|Result) ".*"\]', format_pgn(record, load_game)
    )
    assert " ".join(written).replace("[", "").replace("]", "") == tags


def gone(game_id: str) -> Any:
    """Finds no game: its rules were removed."""
    raise UnknownGame(game_id)


def test_a_removed_game_is_written_or_refused_in_words() -> None:
    """Without rules a game of tokens is written; formats that need the rules say so."""
    record = random_record("othello", 1, 8, is_plain=True)
    text = format_pgn(record, gone)
    for part in (f"1. {record.moves[0].token} ", '[First "', "[Start "):
        assert part in text
    assert format_json_line(record, gone) == format_json_line(record, load_game)
    with pytest.raises(Unwritable, match="the rules of othello are not here"):
        format_sgf(record, gone)
    old = random_record("chess", 1, 8, is_plain=True)
    old = msgspec.structs.replace(old, moves=tuple(Move(move.token) for move in old.moves))
    with pytest.raises(Unwritable, match="the rules of chess are not here"):
        format_pgn(old, gone)


# --- PDN: pydraughts


def check_draughts(records: list[GameRecord]) -> None:
    """Asserts that pydraughts reads these games from one file as they were played."""
    texts = [format_pdn(record, load_game) for record in records]
    # pydraughts reads one move of number 1 where Black begins by FEN, as if White began in draughts
    # too, and reads it twice.
    read = PDNReader(
        "".join(
            ('[FEN "B"]\n' if "\n\n1... " in text else "") + text.replace("[FEN", "[Start")
            for text in texts
        )
    ).games
    assert len(read) == len(records)
    for record, game in zip(records, read, strict=True):
        is_english = record.game == "draughts"
        assert game.variant == ("english" if is_english else "standard")
        assert game.game_ending == game.tags["Result"] == expected_result(record, int(is_english))
        start = standard_start(load_game(record.game), ()).rpartition(":")[0]
        board = draughts.Board(variant=game.variant, fen=game.tags.get("Start", start))
        moves = game.moves[len(game.tags.get("FEN", "")) :]
        for move in moves:
            board.push(draughts.Move(board, pdn_move=move))
        assert len(moves) == len(record.moves)
        ours = final_position(record).text().rpartition(":H")[0]
        assert sorted(board.fen) == sorted(ours), (game.pdn_text[:2000], board.fen, ours)


def draughts_records(count: int, plies: int) -> list[GameRecord]:
    games = ("draughts", "international-draughts")
    return [
        random_record(games[seed % 2], seed, plies, is_plain=True, is_set_up=seed % 4 > 1)
        for seed in range(count)
    ]


def test_pydraughts_reads_our_games() -> None:
    """pydraughts reads both games of draughts as they were played."""
    check_draughts(draughts_records(8, 40))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_pydraughts_reads_a_thousand_of_our_games() -> None:
    """The same for 1,000 games of up to 200 plies."""
    records = draughts_records(1000, 200)
    for first in range(0, 1000, 10):  # pydraughts needs the square of a file's length
        check_draughts(records[first : first + 10])


# --- SGF: sgfmill


def sgf_moves(text: str) -> Iterator[str]:
    """The moves of a game tree as sgfmill reads it."""
    for node in sgf_grammar.parse_sgf_game(text.encode()).sequence[1:]:
        ((_, (value,)),) = [(key, node[key]) for key in ("B", "W") if key in node]
        yield value.decode()


def check_sgf(records: list[GameRecord]) -> None:
    """Asserts that sgfmill reads these games, one after the other, as they were played."""
    for record in records:
        text = format_sgf(record, load_game)
        root, *nodes = sgf_grammar.parse_sgf_game(text.encode()).sequence
        assert sgf_grammar.parse_sgf_collection(text.encode())
        names = [sgf_grammar.simpletext_value(root[key][0]).decode() for key in ("PB", "PW")]
        assert names == [plain_value(seat.name).replace("\\\n", "") for seat in record.seats]
        assert list(map(token_of, [record.game] * 999, sgf_moves(text))) == [
            move.token for move in record.moves
        ]
        turns = [next(key for key in node if key in "BW") for node in nodes]
        first = load_game(record.game).position(record.start, record.options).turn
        assert turns == ["BW"[(first + index) % 2] for index in range(len(turns))]


def token_of(game: str, point: str) -> str:
    """The token of a move of SGF, by the rules of each game's property."""
    if game == "hex":
        return "swap" if point == "swap-pieces" else point
    if not point:
        return "pass"
    row = ord(point[1]) - 96
    return f"{point[0]}{row if game == 'othello' else 16 - row}"


def sgf_records(count: int) -> list[GameRecord]:
    games = ("gomoku", "othello", "hex")
    return [
        random_record(games[seed % 3], seed, 70, is_plain=seed % 5 == 0, is_set_up=seed % 2 == 1)
        for seed in range(count)
    ]


def test_sgfmill_reads_our_games() -> None:
    """sgfmill reads gomoku, Othello and Hex as they were played, whatever the names are."""
    check_sgf(sgf_records(30))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_sgfmill_reads_a_thousand_of_our_games() -> None:
    """The same for 1,000 games."""
    check_sgf(sgf_records(1000))


def test_a_set_up_start_of_sgf_has_its_pieces() -> None:
    """The pieces of a start and the side to move are in the root, black before white."""
    game = load_game("othello")
    position = game.start()
    for token in ("f5", "f6"):
        position = position.replay(token)
    record = GameRecord(
        "", "othello", {}, "", position.text(), (Seat("a"), Seat("b")), (Move("e6"),)
    )
    assert format_sgf(record, load_game) == (
        "(;FF[4]CA[UTF-8]GM[2]AP[Plyroom]SZ[8]PB[a]PW[b]AB[ed][de][fe]AW[dd][ee][ff]PL[B]\n"
        ";B[ef])\n\n"
    ).replace("AB[ed][de][fe]AW[dd][ee][ff]", stones(position))


def stones(position: Position) -> str:
    """The discs of a position of Othello as AB and AW, read from its text."""
    cells = position.text()[:64]
    lists = dict.fromkeys("XO", "")
    for index, mark in enumerate(cells):
        if mark in lists:
            lists[mark] += f"[{'abcdefgh'[index % 8]}{'abcdefgh'[index // 8]}]"
    return f"AB{lists['X']}AW{lists['O']}"


# --- GGF and transcripts


def test_othello_is_written_as_its_servers_do() -> None:
    """GGF has the start, the moves, times and the difference of discs; a transcript no passes."""
    moves = (Move("f5", spent_ms=2500), Move("d6"), Move("pass"), Move("c3"))
    start = standard_start(load_game("othello"), ())
    record = GameRecord(
        "", "othello", {}, "", start, (Seat("Ada"), Seat("B]n")), moves,
        Over(1, "board", "", (20, 44)), 1_700_000_000_000,
    )  # fmt: skip
    assert format_ggf(record) == (
        "(;GM[Othello]PC[Plyroom]DT[2023-11-14 22:13:20 GMT]PB[Ada]PW[B\\]n]RE[-24.000]TI[0]TY[8]"
        "BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]"
        "B[F5//2.5]W[D6]B[PA]W[C3];)\n"
    )
    assert format_transcript(record, load_game) == "f5d6c3\n"
    resigned = msgspec.structs.replace(record, over=Over(0, "resign"))
    assert "RE[+64.000:r]" in format_ggf(resigned)
    with pytest.raises(Unwritable, match="did not begin at the start"):
        format_transcript(random_record("othello", 5, 5, is_set_up=True), load_game)


# --- JSON lines, and all formats


@given(st.sampled_from(game_ids()), st.integers(0, 10**6), st.integers(1, 64), st.booleans())
def test_json_lines_lose_nothing(game: str, seed: int, part: int, is_set_up: bool) -> None:
    """Every game comes back as it was written, however the file is cut into parts."""
    records = [random_record(game, seed + i, 12, i == 1, is_set_up) for i in range(2)]
    records[0] = msgspec.structs.replace(
        records[0], thoughts={"3": {"value": 1}}, extra={"later": [1, None]}
    )
    file = "".join(map(format_json_line, records)).encode()
    parts = [file[at : at + part] for at in range(0, len(file), part)]
    assert list(parse_json_lines(parts, load_game)) == records


def test_bad_json_lines_are_named_to_the_column() -> None:
    """A line that is no game says where and why; the games around it are read."""
    good = format_json_line(random_record("chess", 3, 6, is_plain=True))
    token = random_record("chess", 3, 6, is_plain=True).moves[2].token
    bad = {
        good.replace(f'"{token}"', '"e9e4"'): (good.index(f'"{token}"') + 1, "e9e4"),
        good.replace('{"plyroom":1', '{"plyroom":2'): (1, '"plyroom":2'),
        good.replace('"game":"chess"', '"game":"chez"'): (good.index('"chess"') + 1, "chez"),
        good.replace('"seats":[{', '"seats":[{},{'): (1, "$.seats"),
        good[:50] + "\n": (51, ""),
        "[" * 100_000 + "\n": (1, ""),
        "nonsense\n": (1, "nonsense\n"),
        "\0\n": (1, "\0"),
        '{"plyroom":1}\n': (1, ""),
        "null\n": (1, "null"),
        good.replace('"moves":[', '"moves":["e2e4",'): (1, "$.text"),
    }  # fmt: skip
    for line, (column, found) in bad.items():
        first, second, third = parse_json_lines([(good + line + good).encode()], load_game)
        assert isinstance(first, GameRecord)
        assert isinstance(third, GameRecord)
        assert isinstance(second, BadGame), line[:100]
        assert (second.number, second.line) == (2, 2)
        if not line.startswith("[[") and column > 1:
            assert (second.column, second.found.strip()) == (column, found), second
    cut = good.encode()
    for end in range(1, len(cut) - 1):
        (only,) = parse_json_lines([cut[:end]], load_game)
        assert isinstance(only, BadGame)


def test_each_game_has_its_formats_the_usual_one_first() -> None:
    """Every game has PGN and JSON lines; names and suffixes are unique."""
    assert [each.name for each in formats_of("chess")] == ["pgn", "jsonl"]
    assert [each.name for each in formats_of("draughts")] == ["pdn", "pgn", "jsonl"]
    assert [each.name for each in formats_of("othello")] == ["sgf", "ggf", "txt", "pgn", "jsonl"]
    assert len({each.suffix for each in FORMATS.values()}) == len(FORMATS)
    for game in game_ids():
        record = random_record(game, 1, 10)
        for each in formats_of(game):
            assert each.write(record, load_game).text, (game, each.name)
    written = FORMATS["sgf"].write(random_record("chess", 1, 4), load_game)
    assert (written.text, written.refused) == ("", "SGF has no moves of chess")
