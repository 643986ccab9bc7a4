"""Replays of matches on a terminal and in a pipe, and the client's HTTP requests."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import msgspec
import pytest

from client.address import Address, parse_address
from client.api import MatchRecord, PlyView, Thought, fetch_games, fetch_match, fetch_views
from client.errors import ProtocolMismatch, Refused, Unreachable
from client.terminal.output import Output
from client.terminal.replay import ply_lines, print_json, print_match, step_through
from engine.rules.registry import load_game
from engine.view import PositionView
from server.events import Occupant
from server.protocol.assessments import Assessment
from server.protocol.messages import MatchResult, Played

MOVES = ("b2", "a1", "c2", "b1", "a2")
FIRST_SEAT_WINS = MatchResult(0, "board", "three in a row")


def match(over: MatchResult | None = FIRST_SEAT_WINS) -> tuple[MatchRecord, list[PositionView]]:
    """Returns a match of tic-tac-toe that Ada wins against the AI, and its views."""
    position = load_game("tic-tac-toe").start()
    views = [position.view()]
    for token in MOVES:
        position = position.play(position.parse_move(token))
        views.append(position.view())
    record = MatchRecord(
        match="m1",
        room="r1",
        game="tic-tac-toe",
        title="Tic-tac-toe",
        number=1,
        seats=(Occupant("i1", "Ada"), Occupant("ai", "AI level 1", "ai", 1)),
        over=over,
        plies=len(MOVES),
        length="5 moves",
        options={},
        start=load_game("tic-tac-toe").start().text(),
        moves=tuple(Played(move) for move in MOVES),
        view=position.game.board({}),
        thoughts={"1": Thought(depth=3, score=-7, nodes=99, pv=("a1",))},
    )
    return record, views


def output(interactive: bool = False) -> tuple[Output, io.StringIO]:
    stream = io.StringIO()
    return Output(stream, stream, interactive), stream


START = """\
Start
 3  .  .  .
 2  .  .  .
 1  .  .  .
    a  b  c
Crosses to move
"""

SECOND = """\
2. Noughts: a1
  AI: depth 3, -7, 99 nodes, a1
 3  .  .  .
 2  .  X  .
 1 [O] .  .
    a  b  c
[ ] last move
Crosses to move
"""


def test_print_match_prints_all_positions() -> None:
    out, stream = output()
    print_match(*match(), out)
    text = stream.getvalue()
    assert text.startswith(
        f"Tic-tac-toe, match m1, 5 moves\nAda (Crosses) against AI level 1 (Noughts)\n\n{START}\n"
    )
    assert SECOND in text
    assert text.endswith("* * winning row\nCrosses win: three in a row.\n")


def test_print_match_can_print_one_position_only() -> None:
    out, stream = output()
    print_match(*match(), out, only=2)
    assert stream.getvalue().endswith(f"(Noughts)\n\n{SECOND}")


def test_a_match_with_a_clock_says_what_each_move_left() -> None:
    """The time stands behind the move; one of a move without a time is left out."""
    record, views = match()
    left_ms = (298_700, 300_000, 9_900, None)
    timed = msgspec.structs.replace(record, clock="300+3", left_ms=left_ms)
    out, stream = output()
    print_match(timed, views, out)
    text = stream.getvalue()
    assert text.startswith("Tic-tac-toe, 5+3, match m1, 5 moves\n")
    moves = [line for line in text.splitlines() if line[:1].isdecimal()]
    assert moves == [
        "1. Crosses: b2 [4:58]",
        "2. Noughts: a1 [5:00]",
        "3. Crosses: c2 [0:09.9]",
        "4. Noughts: b1",
        "5. Crosses: a2",
    ]


def test_the_words_for_a_search_end_with_what_it_cut_off() -> None:
    """Words without counts, of a server of an earlier version or of a solver, take one line."""
    record, views = match()
    for work in ("", "3 branches cut off."):
        assessment = Assessment(sentence="Noughts like a1.", says="44 % to win", work=work)
        out, stream = output()
        words = msgspec.structs.replace(record, assessments={"1": assessment})
        print_match(words, views, out, only=2)
        lines = stream.getvalue().split("2. Noughts: a1\n")[1].splitlines()
        expected = ["  AI: Noughts like a1. (44 % to win)", *([f"  {work}"] if work else [])]
        assert lines[: len(expected)] == expected
        assert "AI" not in lines[len(expected)]


def test_a_running_match_without_views_is_printed_without_boards() -> None:
    record, _ = match(over=None)
    out, stream = output()
    print_match(msgspec.structs.replace(record, view=None), [], out)
    assert "The match is still running.\n" in stream.getvalue()
    assert "1. First: b2\n" in stream.getvalue()


def test_json_has_a_line_for_the_match_and_one_for_each_position() -> None:
    out, stream = output()
    record, views = match()
    print_json(record, views, out)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["match"] == "m1"
    assert [(line["ply"], line["move"]) for line in lines[1:]] == [(0, None), *enumerate(MOVES, 1)]
    assert lines[6]["view"]["text"] == "Crosses win"


def test_the_user_steps_forward_back_and_to_a_moves_number() -> None:
    out, stream = output(interactive=True)
    lines = iter(["", "n", "b", "9", "wrong", "5", "", "first", "last", "p", "?", "q"])
    step_through(*match(), out, lambda: next(lines))
    text = stream.getvalue()
    prompts = [
        part[: part.index(" of")] for part in text.split("\n") if " of 5 moves: n next" in part
    ]
    assert prompts == ["0", "1.", "2.", "1.", "1.", "1.", "5.", "5.", "0", "5.", "4.", "4."]
    error = "error: n, p, a move's number (0 for the start, up to 5.), ? or q is expected"
    assert text.count(error) == 2
    assert text.count("the move before") == 1


def test_the_end_of_the_input_ends_stepping() -> None:
    out, stream = output(interactive=True)
    step_through(*match(), out, lambda: None, ply=3)
    assert "3. Crosses: c2" in stream.getvalue()


# --- over HTTP


class Handler(BaseHTTPRequestHandler):
    """Answers each path with the status and the body from `replies`."""

    replies: ClassVar[dict[str, tuple[int, bytes]]] = {}

    def do_GET(self) -> None:
        status, body = self.replies.get(
            self.path, (404, b'{"code":"match.unknown","message":"there is no such match"}')
        )
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Suppresses the log."""


@contextmanager
def http_server(replies: dict[str, tuple[int, bytes]]) -> Iterator[Address]:
    Handler.replies = replies
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield parse_address(f"127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


def test_a_match_takes_one_request_and_its_views_one_request_per_100() -> None:
    record, _ = match()
    views = [PlyView(ply, PositionView({}, 0, str(ply))) for ply in range(251)]

    def page(first: int, last: int) -> tuple[int, bytes]:
        return 200, msgspec.json.encode({"views": views[first : last + 1]})

    replies = {
        "/api/matches/m1": (200, msgspec.json.encode(record)),
        "/api/matches/m1/views?from=0&to=99": page(0, 99),
        "/api/matches/m1/views?from=100&to=199": page(100, 199),
        "/api/matches/m1/views?from=200&to=250": page(200, 250),
    }
    newer = msgspec.to_builtins(record) | {"match": "m2"}
    look = newer["view"]["kinds"]["X"] | {"shape": "dragon"}
    newer["view"]["kinds"] = newer["view"]["kinds"] | {"X": look}
    replies["/api/matches/m2"] = (200, msgspec.json.encode(newer))
    with http_server(replies) as address:
        assert fetch_match(address, "m1") == record
        assert [view.text for view in fetch_views(address, "m1", 0, 250)] == [
            str(ply) for ply in range(251)
        ]
        # A look that this client does not know is the usual one.
        assert record.view is not None
        view = fetch_match(address, "m2").view
        assert view is not None
        assert view.kinds["X"] == msgspec.structs.replace(record.view.kinds["X"], shape="disc")


def test_failed_requests_raise_the_clients_exceptions() -> None:
    replies = {
        "/api/games": (200, b"<html>"),
        "/api/matches/m2": (502, b"<html>"),
        "/api/matches/m3": (200, b'{"match":3}'),
    }
    with http_server(replies) as address:
        with pytest.raises(Refused, match="there is no such match"):
            fetch_match(address, "m1")
        with pytest.raises(Unreachable, match="HTTP 502"):
            fetch_match(address, "m2")
        with pytest.raises(ProtocolMismatch):
            fetch_match(address, "m3")
        with pytest.raises(ProtocolMismatch):
            fetch_games(address)
    with pytest.raises(Unreachable):
        fetch_games(parse_address("127.0.0.1:1"))


def test_a_page_without_views_raises_an_error() -> None:
    with (
        http_server({"/api/matches/m1/views?from=0&to=5": (200, b'{"views":[]}')}) as address,
        pytest.raises(ProtocolMismatch),
    ):
        fetch_views(address, "m1", 0, 5)


def test_a_move_after_an_extra_turn_has_its_side_and_number() -> None:
    """In a game in which a side may move again, each move is shown with its own number and side."""
    game = load_game("kalah")
    positions = [game.start()]
    for token in ("c1", "f1", "e2", "a2"):
        positions.append(positions[-1].advance(token)[1])
    moves = (
        Played("c1", None, "1."),
        Played("f1", None, "2.", seat=0),
        Played("e2", None, "3.", seat=1),
        Played("a2", None, "4."),
    )
    record = msgspec.structs.replace(
        match(None)[0], moves=moves, thoughts={}, view=game.board({}), length="4 moves"
    )
    views = [position.view() for position in positions]
    shown = [ply_lines(record, views, ply)[0] for ply in range(1, 5)]
    assert shown == ["1. South: c1", "2. South: f1", "3. North: e2", "4. North: a2"]
