"""The meaning of typed lines, and the texts of the terminal."""

import pytest

from client.model import Model
from client.terminal import words
from client.terminal.commands import Do, Play, Say, Try, Unclear, Word, help_text, read_line
from engine.rules.registry import load_game
from engine.view import BoardView, Grid, MoveView
from server.protocol.messages import (
    MatchResult,
    MatchState,
    Played,
    RoomDescription,
    Thinking,
    Turn,
)


def room(board: BoardView, *moves: MoveView) -> Model:
    """A room in which these are my moves."""
    match = MatchState(id="m", number=1, start="", rules="", seats=(), moves=())
    turn = Turn(room="r", v=1, match="m", ply=0, moves=moves)
    description = RoomDescription(
        game="g",
        title="G",
        options={},
        visibility="public",
        host="",
        created_ms=0,
        levels=1,
        view=board,
    )
    return Model(room="r", match=match, turn=turn, description=description)


CHESS = BoardView(Grid(8, 8), {}, ())
PROMOTIONS = [MoveView(f"a7a8{c}", ("a7", "a8"), f"a8={c.upper()}", choice=c) for c in "qr"]
PAWN = MoveView("e2e4", ("e2", "e4"), "e4")
CONNECT_FOUR = room(
    load_game("connect-four").board({}), *load_game("connect-four").start().move_views()
)
WAITING = Model(room="r", description=CONNECT_FOUR.description)
STICKS = room(
    load_game("sticks").board({"rows": "1-2-3"}), *load_game("sticks").start().move_views()
)


@pytest.mark.parametrize("text", ["e2e4", "e4", "E2-E4", "e2 e4", "e2xe4", "  e2e4 "])
def test_a_move_is_understood_as_people_write_it(text: str) -> None:
    assert read_line(text, room(CHESS, PAWN, *PROMOTIONS)) == Play(PAWN)


def test_an_ambiguous_move_is_asked_about() -> None:
    model = room(CHESS, PAWN, *PROMOTIONS)
    assert read_line("a7a8", model) == Unclear("a7a8 can be any of: a7a8q (q), a7a8r (r)")
    assert read_line("a8=r", model) == Play(PROMOTIONS[1])


def test_an_exact_token_takes_precedence_over_a_loose_reading() -> None:
    """Sticks writes 3x2, although players put x between cells."""
    assert read_line("3x2", STICKS) == Play(next(m for m in STICKS.moves if m.id == "3x2"))
    assert read_line("32", STICKS) == Play(next(m for m in STICKS.moves if m.id == "3x2"))


def test_a_column_b_is_never_the_board() -> None:
    """Where b is a move, the board command is `board`, even when it is not this player's turn."""
    assert isinstance(read_line("b", CONNECT_FOUR), Play)
    assert read_line("b", WAITING) == Unclear("It is not your turn.")
    assert read_line("board", CONNECT_FOUR) == read_line("BOARD", WAITING) == Do(Word.BOARD)
    assert "board, b" not in help_text(CONNECT_FOUR)
    assert "moves, m" in help_text(CONNECT_FOUR)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("", None),
        ("   ", None),
        ("b", Do(Word.BOARD)),
        ("m", Do(Word.MOVES)),
        ("L", Do(Word.LAST)),
        ("pieces c", Do(Word.PIECES, "c")),
        ("?", Do(Word.HELP)),
        ("q", Do(Word.QUIT)),
        ("exit", Do(Word.QUIT)),
        ("resign", Do(Word.RESIGN)),
        ("Rematch", Do(Word.REMATCH)),
        ("abort", Do(Word.ABORT)),
        ("decline", Do(Word.DECLINE)),
        ("t", Do(Word.THINKING)),
        ("/hello", Say("hello")),
        ("/ e4", Say("e4")),
        ("chat e2e4 was it", Say("e2e4 was it")),
    ],
)
def test_commands(text: str, action: object) -> None:
    assert read_line(text, room(CHESS, PAWN)) == action


@pytest.mark.parametrize("text", ["/", "chat", "chat  ", "resignx", "\x00", "e" * 5000])
def test_anything_else_is_answered(text: str) -> None:
    assert isinstance(read_line(text, room(CHESS, PAWN)), Unclear)
    assert isinstance(read_line(text, Model(room="r")), Unclear)


# --- words


def thinking(state: str = "searching", **more: object) -> Thinking:
    return Thinking(room="r", match="m", ply=0, seat=0, state=state, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0, "0"),
        (12, "+12"),
        (-3, "-3"),
        (29995, "win in 5"),
        (-29998, "loss in 2"),
        (20000, "+20000"),
    ],
)
def test_scores(score: int, text: str) -> None:
    assert words.score_text(score) == text


def test_bounds_are_shown() -> None:
    assert words.score_text(7, "upper") == "at most +7"


@pytest.mark.parametrize(
    ("count", "text"),
    [(812, "812"), (4820, "4.82 k"), (48_200, "48.2 k"), (482_000, "482 k"), (3_100_000, "3.10 M")],
)
def test_counts(count: int, text: str) -> None:
    assert words.count_text(count) == text


def test_thinking_in_one_line() -> None:
    line = words.thinking_text(
        "AI level 5", thinking(depth=9, score=12, nodes=48_200, pv=tuple("dcdcdcdcdc"))
    )
    assert line == "AI level 5: depth 9, +12, 48.2 k nodes, d c d c d c d c …"
    warming = words.thinking_text("AI", thinking("warming", ready=42))
    assert warming == "AI is getting ready, once per installation: [####......] 42 %"
    early = words.thinking_text(
        "AI", thinking(depth=2, score=1, nodes=60, pv=("d",), warming=True, ready=99)
    )
    assert (
        early
        == "AI: depth 2, +1, 60 nodes, d (getting ready, once per installation: [#########.] 99 %)"
    )
    assert words.thinking_text("AI", thinking("queued")) == "AI waits for its turn to think."
    assert words.thinking_text("AI", thinking()) == "AI thinks."


@pytest.mark.parametrize(
    ("over", "text"),
    [
        (MatchResult(0, "board", "four in a row"), "Red wins: four in a row."),
        (MatchResult(None, "board", "the board is full"), "Draw: the board is full."),
        (MatchResult(None, "abort", "the match was aborted"), "No result: the match was aborted."),
        (MatchResult(1, "resign", "Red resigned"), "Yellow wins: Red resigned."),
    ],
)
def test_results(over: MatchResult, text: str) -> None:
    board = CONNECT_FOUR.description.view if CONNECT_FOUR.description else None
    assert words.result_text(board, over) == text


def test_moves_carry_their_notation() -> None:
    assert words.move_line(None, 0, 1, Played("e2e4", "e4")) == "1. Second: e4"
    assert words.move_line(None, 8, 0, Played("pass", forced=True)) == "9. First: pass (forced)"


@pytest.mark.parametrize("text", ["Nf3", "exd8=Q+", "O-O", "0-0-0", "e9", "12x19", "Bb5#"])
def test_possible_notation_is_left_to_the_server(text: str) -> None:
    assert read_line(text, room(CHESS, PAWN)) == Try(text)
    assert isinstance(read_line(text, room(CHESS)), Unclear), "not when it is not one's turn"
