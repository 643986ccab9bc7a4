"""What a terminal with colours shows: each text goes to a screen with its codes, as the client
prints it.
"""

import io
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

import pytest

from client.address import parse_address
from client.analyses import AnalysisReport
from client.api import MatchRecord
from client.messages import RoomMessage, parse_server_message
from client.model import Model, apply
from client.subcommands.analyse import Progress
from client.terminal.board import draw_board
from client.terminal.commands import CommandName
from client.terminal.output import Output
from client.terminal.queries import answer_query
from client.terminal.replay import print_match, step_through
from client.terminal.transcript import Transcript
from client.terminal.wrapping import count_rows, visible_width, wrap
from engine.game import Position
from engine.rules.registry import game_ids, load_game
from engine.view import BoardView, Grid, Kind, PositionView, SeatView
from server.commands import Move, MySeat, OpenSeat, Sit
from server.events import format_event_body
from server.protocol.codec import event_frame, format_message
from server.protocol.messages import Joined, Turn
from server.protocol.views import (
    description,
    format_played,
    format_result,
    format_seats,
    snapshot,
    turn,
    view,
)
from server.rooms.model import Actor, Match
from tests.support.fake_room import ADA, BOB, CYD, FakeRoom, Logged
from tests.support.terminals import EmulatedTerminal, Terminal

ADDRESS = parse_address("http://script")
#: Positions of each game besides its start.
RANDOM_POSITIONS = 18
WIDTHS = (80, 100)
RED, RESET = "\x1b[31m", "\x1b[0m"


class RandomMatch:
    """A random match between Ada and Bob: its positions, and the server's messages about it."""

    def __init__(self, game_id: str, rng: random.Random, max_plies: int) -> None:
        self._fake = FakeRoom(game_id, (MySeat(), OpenSeat()))
        room = self._fake.room
        self.messages: list[RoomMessage] = []
        self.positions: list[Position] = []
        self._send(format_message(Joined(room="r", v=1, epoch="e", description=description(room))))
        self._send(format_message(snapshot(room, player=True)))
        self._send_events(self._fake.decide(BOB, Sit(id="sit", seat=1)))
        while len(self.positions) <= max_plies and self.match.over is None:
            ply, position = len(self.positions) - 1, self.positions[-1]
            move = Move(id=f"{ply}", ply=ply, move=rng.choice(position.tokens()))
            self._send_events(self._fake.decide((ADA, BOB)[position.turn], move))

    @property
    def match(self) -> Match:
        match = self._fake.room.match
        assert match is not None
        return match

    @property
    def board(self) -> BoardView:
        return self.positions[0].game.board(self.positions[0].options)

    def show_room(self, viewer: Actor, output: Output) -> None:
        """Prints the match for a player or a spectator while it is played."""
        transcript = Transcript(output, ADDRESS, brief=False, server_ms=int)
        model = Model(room="r", me=viewer.identity)
        for message in self.messages:
            if isinstance(message, Turn) and not (model.view and model.view.turn == model.my_seat):
                continue  # it is for the other player
            before, model = model, apply(model, message)
            transcript.show(before, model, message)

    def show_replay(self, output: Output) -> None:
        """Prints the last position, then steps through the replay of the match."""
        match, room = self.match, self._fake.room
        record = MatchRecord(
            match=match.id, room="r", game=room.game_id, title=room.game_id, number=1,
            seats=tuple(seat for seat in format_seats(room.seats) if seat),
            over=None if match.over is None else format_result(match.over),
            plies=match.ply, options=dict(room.options), start=match.start,
            moves=tuple(map(format_played, match.moves)), view=self.board,
        )  # fmt: skip
        views = [position.view() for position in self.positions]
        print_match(record, views, output, only=match.ply)
        keys = iter(["n"] * match.ply)
        step_through(record, views, output, lambda: next(keys, None))

    def _send_events(self, events: list[Logged]) -> None:
        for v, event in events:
            self._send(event_frame("r", v, 0, format_event_body(event)))
        assert self.match.position is not None
        self.positions.append(self.match.position)
        for message in (view(self._fake.room, self.match), turn(self._fake.room, self.match)):
            if message is not None:
                self._send(format_message(message))

    def _send(self, frame: bytes) -> None:
        message = parse_server_message(frame)
        assert isinstance(message, RoomMessage)
        self.messages.append(message)


@cache
def random_matches(game_id: str) -> list[RandomMatch]:
    """Returns matches that together have the start and RANDOM_POSITIONS more positions."""
    rng = random.Random(game_id)
    matches: list[RandomMatch] = []
    missing = RANDOM_POSITIONS
    while missing > 0:
        matches.append(RandomMatch(game_id, rng, missing))
        missing -= len(matches[-1].positions) - 1
    return matches


def on_screens(
    show: Callable[[Output], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """Yields the lines of a terminal with colours of each width, which must show the same as a
    file: a line that fits as one line, any other wrapped between words.
    """
    file = io.StringIO()
    show(Output(file, file, interactive=True))
    lines = file.getvalue().rstrip().split("\n")
    for columns in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(columns))
        terminal = EmulatedTerminal(columns, rows=4000)
        show(Output(terminal, terminal, interactive=True, colours=256))
        assert "\x1b[" in terminal.getvalue(), "the text has colours"
        assert_shown(terminal.lines(), lines, columns)
        yield terminal.lines()


def assert_shown(screen: list[str], lines: list[str], columns: int) -> None:
    """Asserts that a screen shows these lines, and nothing else."""
    at = 0
    for line in map(str.rstrip, lines):
        row, at = screen[at], at + 1
        if len(line) > columns:
            while len(row.split()) < len(line.split()):
                row, at = f"{row} {screen[at]}", at + 1
            row, line = " ".join(row.split()), " ".join(line.split())
        assert row == line
    assert at == len(screen)


def assert_boards_shown(
    screen: list[str], match: RandomMatch, positions: Iterable[Position], flip: bool = False
) -> None:
    """Asserts that the boards of these positions are shown in order, each row as one line."""
    text, at = "\n".join(screen), 0
    for position in positions:
        rows = "\n".join(draw_board(match.board, position.view(), flip=flip).rows)
        at = text.find(f"{rows}\n", at) + 1
        assert at > 0, f"torn or missing:\n{rows}"


@pytest.mark.parametrize("game_id", game_ids())
def test_each_row_of_a_board_is_one_line_in_play(
    game_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both players see the board at their turns and at the end, the second one flipped in some
    games.
    """
    for match in random_matches(game_id):
        for seat, viewer in enumerate((ADA, BOB)):
            seen = [each for each in match.positions if each.view().turn in (seat, None)]
            flip = match.board.board.flips and seat == 1
            for screen in on_screens(partial(match.show_room, viewer), monkeypatch):
                assert_boards_shown(screen, match, seen, flip)


@pytest.mark.parametrize("game_id", game_ids())
def test_each_row_of_a_board_is_one_line_for_a_spectator(
    game_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for match in random_matches(game_id):
        for screen in on_screens(partial(match.show_room, CYD), monkeypatch):
            assert_boards_shown(screen, match, match.positions)


@pytest.mark.parametrize("game_id", game_ids())
def test_each_row_of_a_board_is_one_line_in_a_replay(
    game_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for match in random_matches(game_id):
        for screen in on_screens(match.show_replay, monkeypatch):
            assert_boards_shown(screen, match, [match.positions[-1], *match.positions])


# --- narrow terminals and wide characters


def hex_board(output: Output, moves: str = "") -> None:
    """Prints a board that is 65 columns wide, or 35 in its compact form."""
    position = load_game("hex").start({})
    for token in moves.split():
        position = position.play(position.parse_move(token))
    output.print(draw_board(position.game.board(position.options), position.view(), output.colours))


def test_a_board_that_is_too_wide_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the width that the board needs, once for a board and a terminal of the same
    widths. The pieces follow in words, and no row is wrapped.
    """
    terminal = EmulatedTerminal(30, rows=400)
    output = Output(terminal, terminal, interactive=True, colours=256)
    needs = "The board needs 35 columns;\n  here are {}.\n"
    monkeypatch.setenv("COLUMNS", "30")
    output.prompt("Your move")
    hex_board(output)
    output.prompt("Your move")
    hex_board(output, "c2 d4")
    assert terminal.getvalue().count("needs") == 1
    assert f"{needs.format(30)}The board is empty.\nEdges: " in terminal.getvalue()
    assert "c2 red stone, d4 blue stone\nEdges: " in terminal.getvalue()
    assert terminal.getvalue().count("Your move > ") == 3, "shown again below each board"
    assert "." not in terminal.getvalue().replace(needs.format(30), "").replace("empty.", "")
    monkeypatch.setenv("COLUMNS", "34")
    hex_board(output)
    assert terminal.getvalue().count("needs") == 2
    for columns, row in ((35, "\n 2   . ."), (64, "\n 2   . ."), (65, "\n 2    .   .")):
        monkeypatch.setenv("COLUMNS", str(columns))
        before = len(terminal.getvalue())
        hex_board(output)
        assert row in terminal.getvalue()[before:]
    assert terminal.getvalue().count("needs") == 2


@pytest.mark.parametrize("place", ["play", "watch", "replay", "command"])
def test_no_place_wraps_the_rows_of_a_board(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a narrow terminal each place shows the compact form."""
    match = random_matches("hex")[0]
    model = Model(room="r")
    for message in match.messages:
        model = apply(model, message)
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    output = Output(terminal, terminal, interactive=True, colours=256)
    if place == "replay":
        match.show_replay(output)
    elif place == "command":
        output.print(answer_query(model, CommandName.BOARD, "", colours=256))
    else:
        match.show_room(ADA if place == "play" else CYD, output)
    assert "needs" not in terminal.getvalue()
    drawn = draw_board(match.board, match.positions[-1].view(), colours=256)
    assert drawn.compact is not None
    assert "\n".join(drawn.compact.rows) in terminal.getvalue()
    assert "\n".join(drawn.rows) not in terminal.getvalue()


def test_only_a_terminal_has_a_board_that_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    file = io.StringIO()
    hex_board(Output(file, file, interactive=False))
    assert "needs" not in file.getvalue()


@pytest.mark.parametrize(
    "text", ["x", "♜", "中", "e\u0301", "👍", "\u200b", "각", "\uff21", "\uff71", "й", "\u00ad"]
)
def test_the_width_of_a_character_is_that_of_the_emulator(text: str) -> None:
    """A colour has no width."""
    terminal = EmulatedTerminal()
    terminal.write(f"{RED}{text}{RESET}")
    assert terminal.screen.cursor.x == visible_width(f"{RED}{text}{RESET}")


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("", 1),
        ("a" * 20, 1),
        ("a" * 21, 2),
        ("a" * 41, 3),
        ("中" * 10, 1),
        ("a" * 19 + "中", 2),
        ("a" * 20 + "\u0301", 1),
        (f"{RED}{'a' * 20}{RESET}", 1),
    ],
)
def test_the_rows_of_a_line_at_the_edge(line: str, rows: int) -> None:
    """A wide character does not stand on the edge; a combining one is with the one before it."""
    assert count_rows(line, 20) == rows


def test_a_board_with_wide_and_combined_characters_keeps_its_columns() -> None:
    kinds = {"w": Kind("w", 0, text="中"), "c": Kind("c", 1, text="e\u0301"), "r": Kind("r", 0)}
    board = BoardView(Grid(3, 2), kinds, (SeatView("A", "#c00"), SeatView("B", "#00c")))
    position = PositionView({"a1": "w", "b1": "c", "c1": "r", "b2": "r"}, 0, "go", last=("b1",))
    drawn = draw_board(board, position, colours=256)
    assert drawn.width == visible_width(drawn.rows[1])
    terminal = EmulatedTerminal()
    terminal.write(str(drawn))
    cells = terminal.screen.buffer
    assert [cells[1][col].data for col in (4, 9, 13)] == ["中", "\u00e9", "R"]
    assert (cells[1][8].data, cells[1][10].data) == ("[", "]")


@pytest.mark.parametrize("columns", [20, 33, 80])
def test_a_wrapped_line_keeps_its_words_and_colours(columns: int) -> None:
    """Wide and coloured words count as wide as they are; a colour that is open at a break goes on
    in the next line, and neither the indentation nor the rest of the line has it.
    """
    rng = random.Random(columns)
    for _ in range(50):
        words = [
            rng.choice(("pawn", "中文", "é", "a-long-word", "x")) for _ in range(rng.randint(1, 40))
        ]
        first, last = sorted(rng.sample(range(len(words) + 1), 2))
        red = [*words]
        red.insert(last, RESET)
        red.insert(first, RED)
        line = f"  {' '.join(red)}".replace(f"{RED} ", RED).replace(f" {RESET}", RESET)
        terminal = EmulatedTerminal(columns, rows=100)
        terminal.write(wrap(line, columns))
        assert " ".join(terminal.lines()).split() == " ".join(words).split()
        assert all(row.startswith("    ") for row in terminal.lines()[1:])
        cells = [
            cell
            for row in range(len(terminal.lines()))
            for _, cell in sorted(terminal.screen.buffer[row].items())
            if cell.data.strip()
        ]
        text = "".join(cell.data for cell in cells if cell.fg == "red")
        assert text == "".join(words[first:last])
        assert all(
            cell.fg == "default"
            for row in range(1, len(terminal.lines()))
            for col, cell in terminal.screen.buffer[row].items()
            if col < 4
        )


def test_a_prompt_of_several_rows_is_erased_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a terminal that is narrower than the name of the player who is to move."""
    for columns in range(8, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        terminal = EmulatedTerminal(columns)
        output = Output(terminal, terminal, interactive=True, erases=True)
        output.prompt("中文中文 the Long-named is to move", is_waiting=True)
        output.print("moved")
        output.clear_prompt()
        assert terminal.lines()[0] == "moved", columns


def test_the_progress_of_an_analysis_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a terminal that is narrower than the bar."""
    for columns in (20, 80):
        terminal = EmulatedTerminal(columns)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stderr", terminal)
        progress = Progress()
        for done in range(3):
            progress.show(AnalysisReport(state="running", plies=2, done_plies=done))
        assert len(terminal.lines()) == 1
        progress.during(lambda: None)
        assert terminal.lines() == []
