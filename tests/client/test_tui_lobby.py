"""The lobby and the first screen on the whole terminal, with a scripted server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from textual.events import Click, MouseScrollUp
from textual.widgets import Input, OptionList

from client.address import DEFAULT_SERVER, Address, parse_address
from client.api import GameInfo, ListedMatch, MatchRecord, MyMatches, OptionInfo
from client.connection import Connection
from client.errors import PlyroomError, Unreachable
from client.terminal.colours import FIXED_COLOURS
from client.tui.lobby import LobbyScreen, Place, StartScreen, lobby_rows
from client.tui.new_room import (
    CLOCKS,
    NAME_COLUMNS,
    Field,
    Fields,
    create_command,
    fields_after,
    fields_of,
    step_field,
)
from client.tui.requests import Requests
from client.tui.visits import Visits
from engine.view import PositionView
from server.commands import AiSeat, MySeat, OpenSeat
from server.events import Occupant
from server.protocol.messages import MatchResult, Notification, RoomSummary
from server.time_controls import format_control, parse_people
from server.web.client_files import client_folder
from tests.client.test_replay import match
from tests.support.full_screen import FullScreen, running
from tests.support.scripted_server import Close, Link, memory

ADDRESS = parse_address("http://script")
ADA, BOB = Occupant("i1", "Ada"), Occupant("i2", "Bob")
CHESS = GameInfo("chess", "Chess", 8, {}, goal="Mate the king.")
STICKS = GameInfo(
    "sticks",
    "Sticks",
    0,
    {"rows": OptionInfo("Rows", "1-2-3", ("1-2-3", "1-3-5-7"))},
    search="teach",
)
WON = MatchResult(0, "board", "three in a row")


def room(key: str, *seats: Occupant | None, state: Any = "playing", **more: Any) -> RoomSummary:
    return RoomSummary(
        room=key, game="chess", title="Chess", options={}, seats=seats, state=state, created_ms=0,
        **more,
    )  # fmt: skip


def listed(key: str, *seats: Occupant, turn: int | None = None, **more: Any) -> ListedMatch:
    return ListedMatch(
        match=f"m{key}", room=key, game="chess", title="Chess", seats=seats, plies=9, turn=turn,
        **({"over": None} | more),
    )  # fmt: skip


class Canned(Requests):
    """Requests whose answers a test sets."""

    def __init__(self) -> None:
        super().__init__(ADDRESS, "token")
        self.mine = MyMatches()
        self.problem: PlyroomError | None = None
        #: The rooms whose board was fetched.
        self.previewed: list[str] = []

    async def games(self) -> tuple[GameInfo, ...]:
        return (CHESS, STICKS)

    async def strategies(self) -> tuple[str, ...]:
        return ("minimax", "alphabeta")

    async def my_matches(self) -> MyMatches:
        if self.problem is not None:
            raise self.problem
        return self.mine

    async def finished(self) -> tuple[ListedMatch, ...]:
        return (listed("f", ADA, BOB, over=WON, finished_ms=1),)

    async def last_match(self, room: str) -> MatchRecord | None:
        self.previewed.append(room)
        return match()[0]

    async def match(self, match_id: str) -> MatchRecord:
        return match()[0]

    async def views(self, match_id: str, first: int, last: int) -> list[PositionView]:
        return match()[1][first : last + 1]

    async def with_assessments(self, record: MatchRecord) -> MatchRecord:
        return record


class Lobbied:
    """A server with a lobby: `change` sends a change of the list, `created` has what was asked."""

    def __init__(self, *rooms: RoomSummary) -> None:
        self.rooms = rooms
        self.created: list[dict[str, Any]] = []
        self._link: Link | None = None

    async def serve(self, link: Link) -> None:
        """Answers a client; it knows no room to join."""
        await link.hello()
        self._link = link
        while True:
            message = await link.receive()
            await (
                link.refuse(message, "room.unknown")
                if message["t"] == "join"
                else self._ack(message)
            )
            if message["t"] == "watch_lobby":
                await self.change(*self.rooms, full=True)

    async def _ack(self, message: dict[str, Any]) -> None:
        assert self._link is not None
        if message["t"] == "create":
            self.created.append(message)
            await self._link.send({"t": "ack", "id": message["id"], "v": None, "room": "new"})
        else:
            await self._link.ack(message)

    async def change(
        self, *rooms: RoomSummary, full: bool = False, gone: tuple[str, ...] = ()
    ) -> None:
        assert self._link is not None
        body = {"t": "lobby", "full": full, "gone": gone}
        await self._link.send(body | {"rooms": [msgspec.to_builtins(each) for each in rooms]})


@asynccontextmanager
async def lobby(
    server: Lobbied, requests: Requests, columns: int = 100, rows: int = 30, links: int = 1
) -> AsyncIterator[FullScreen]:
    """Runs the application in a lobby until the end of the block."""
    failures: list[PlyroomError] = []
    async with memory(*[server.serve] * links) as connection:
        place = Place(connection, requests, FIXED_COLOURS, False, failures.append)
        async with running(lambda: LobbyScreen(place), columns, rows) as shown:
            connection.on_state = shown.app.show_state
            await shown.shows("New room", "Chess: Mate the king.")
            yield shown


def test_the_rows_of_a_lobby() -> None:
    """Each room stands once, under its heading; own matches say whose turn it is."""
    mine = MyMatches(
        (listed("a", ADA, BOB, turn=0), listed("b", BOB, ADA, turn=0)), (), (room("w", ADA, None),)
    )
    rooms = [
        room("a", ADA, BOB),
        room("c", BOB, None, state="open"),
        room("d", ADA, BOB, length="3 moves", watching=2),
    ]
    rows = lobby_rows(rooms, mine, (), (CHESS,), "i1", "", 0)
    assert [(row.kind, row.text) for row in rows] == [
        ("heading", "Your matches"),
        ("room", "Chess, your turn: Ada against Bob"),
        ("room", "Chess, their turn: Bob against Ada"),
        ("room", "Chess: you wait for a player"),
        ("heading", "Open seats"),
        ("room", "Chess: Bob against a free seat"),
        ("heading", "Running"),
        ("room", "Chess: Ada against Bob, 3 moves, 2 watching"),
        ("heading", "New room"),
        ("game", "Chess: Mate the king."),
    ]
    night = (room("e", ADA, BOB, state="finished"), room("f", ADA, BOB, state="finished"))
    waits = (Notification(room="f", what="rematch", text="Bob offers a rematch of Chess."),)
    mine = MyMatches(rooms=night, notifications=waits)
    assert [row.text for row in lobby_rows([], mine, (), (), "i1", "", 0)] == [
        "Your matches",
        "Bob offers a rematch of Chess.",
        "Chess, play again: Ada against Bob",
    ]
    mine = MyMatches()
    found = lobby_rows(rooms, mine, (), (CHESS,), "i1", "MATE", 0)
    assert [row.key for row in found] == ["New room", "chess"]


def test_an_escape_code_in_a_name_or_a_title_is_left_out() -> None:
    rows = lobby_rows([room("c", Occupant("x", "a\x1b[2Jb"), None)], MyMatches(), (), (), "", "", 0)
    assert rows[1].text == "Chess: a[2Jb against a free seat, playing"
    titled = msgspec.structs.replace(room("c", BOB, None, state="open"), title="Ch\x1b[2Jess")
    rows = lobby_rows([titled], MyMatches(), (), (), "", "", 0)
    assert rows[1].text == "Ch[2Jess: Bob against a free seat"


@pytest.mark.parametrize(
    ("opponent", "seat", "visibility", "one_screen"),
    [
        ("level 5", AiSeat(level=5), "public", False),
        ("persona average", AiSeat(persona="average"), "public", False),
        ("strategy minimax", AiSeat(strategy="minimax"), "public", False),
        ("friend", OpenSeat(), "unlisted", False),
        ("anyone", OpenSeat(), "public", False),
        ("screen", None, "unlisted", True),
    ],
)
def test_the_command_of_the_sheet(
    opponent: str, seat: object, visibility: str, one_screen: bool
) -> None:
    """Each opponent becomes its seat; a room that waits for nobody else is never in the list."""
    fields = fields_of(CHESS, ("minimax",))
    while fields[0].value != opponent:
        step_field(fields, 0, 1, {})
    command = create_command("c", CHESS, fields, "", 0)
    first = (MySeat(), seat)
    turned = (seat, MySeat())
    if one_screen:
        first = turned = (MySeat("Player 1"), MySeat("Player 2"))
    assert command.seats == first
    assert (command.visibility, command.one_screen) == (visibility, one_screen)
    fields[1].index = 1
    assert create_command("c", CHESS, fields, " fen ", 0).seats == turned
    fields[1].index = 2
    assert create_command("c", CHESS, fields, " fen ", 1).seats == turned
    assert create_command("c", CHESS, fields, " fen ", 1).start == "fen"


def test_the_sheet_has_options_and_clocks() -> None:
    """Options have the values that are offered; a clock is sent as the log writes it."""
    fields = {field.name: field for field in fields_of(STICKS, ("minimax",))}
    fields["option rows"].step(1)
    clock = fields["Clock"]
    clock.index = list(clock.values).index("5+3")
    command = create_command("c", STICKS, list(fields.values()), "", 0)
    assert command.options == {"rows": "1-3-5-7"}
    assert command.clock == "300+3"
    assert command.seats[1] == AiSeat(strategy="minimax")


def test_another_game_keeps_what_was_chosen() -> None:
    """Opponent, side, clock and the rest stay where the other game has them too; what it has not
    comes back with the next game that has it.
    """
    chosen = {"Opponent": "anyone", "You play": "1", "Clock": "15+10", "In the list": "no"}
    chosen["Thinking"] = "after"
    kept = {each.name: each.value for each in fields_after(chosen, STICKS, ("minimax",))}
    assert kept == chosen | {"option rows": "1-2-3"}
    fields = Fields((CHESS, STICKS), ("minimax",), "chess")
    fields.at = 1
    fields.action_step(-1)
    opponents = [fields.below[0].value]
    for _ in range(2):
        fields.at = 0
        fields.action_step(1)
        opponents.append(fields.below[0].value)
    assert opponents == ["level 2", "strategy minimax", "level 2"]  # sticks have no levels


@pytest.mark.parametrize("name", ["Clock", "option handicap", "option starting position"])
async def test_the_sign_before_a_value_is_where_it_is_drawn(name: str) -> None:
    """A click on it chooses the value before, one beside it the next; a long name moves it."""
    fields, field = Fields((CHESS,), (), "chess"), Field(name, ("a", "b", "c"), ("a", "b", "c"))
    fields.below.append(field)
    fields.at = len(fields.below)
    column = fields.render().plain.split("\n")[fields.at].index("<")
    assert column >= NAME_COLUMNS + 1
    chosen = []
    for x in (column - 1, column, column + 1):
        field.choose("a")
        fields.on_click(click_at(fields, x, fields.at))
        chosen.append(field.value)
    assert chosen == ["b", "c", "b"]


def click_at(fields: Fields, x: int, y: int) -> Click:
    """A click on a place of the fields."""
    return Click(fields, x, y, 0, 0, 1, False, False, False)


def test_the_usual_clocks_are_those_of_the_browser() -> None:
    """Both sheets offer the same controls in the same order; the first one is no clock."""
    source = (client_folder() / "ui/clock/field.js").read_text()
    table = re.search(r"const USUAL = (\[.*?\]);", source, re.DOTALL)
    assert table is not None
    rows = json.loads(re.sub(r",(\s*\])", r"\1", table[1]))
    usual = [control for row in rows for control in row]
    parsed = [parse_people(clock) for clock in CLOCKS]
    assert [each and format_control(each) for each in parsed] == usual
    assert usual[0] is None


async def test_the_lobby_is_live_and_opens_rooms() -> None:
    """Changes arrive, the filter hides, the small board shows; n creates a room and enters it."""
    server = Lobbied(room("c", BOB, None, state="open"))
    requests = Canned()
    requests.mine = MyMatches((listed("a", ADA, BOB, turn=0),))
    async with lobby(server, requests) as screen:
        await screen.shows("Open seats", "Chess: Bob against a free seat", "You are Ada")
        await screen.shows("Chess, your turn: Ada against Bob", "Replays", "Ada won")
        listed_rows = screen.app.screen.query_one(OptionList)
        await screen.until(lambda: listed_rows.highlighted == 1, "the first match")
        await screen.shows("Tic-tac-toe", "X")  # the small board
        haunted = room("e", BOB, None, state="haunted")  # of a newer server
        await server.change(room("d", BOB, ADA, length="3 moves"), haunted, gone=("c",))
        await screen.shows("Running", "3 moves", "Bob against a free seat, haunted")
        await screen.hides("Open seats")
        await screen.press("slash", *"mate")
        await screen.click_on("Enter: to the list")
        await screen.hides("Running", "Replays", "Enter: to the list")
        await screen.press("escape")
        await screen.shows("Running")
        await screen.press("n")
        await screen.shows("A new room", "computer, level 3")
        await screen.press("down", "right", "right", "down", "right")
        await screen.shows("< the second side >", "computer, level 5")
        await screen.press("enter")
        await screen.until(lambda: server.created, "created")
        assert server.created[0]["seats"] == [{"who": "ai", "level": 5}, {"who": "me"}]
        # This server knows no room: its refusal is told in the lobby.
        await screen.shows("no: room.unknown", "New room")


async def test_a_room_is_created_by_the_mouse_alone() -> None:
    """A click opens the sheet and chooses a field, the signs beside its value change it, so does
    the wheel; the last line creates the room. The keys of the lobby are clicked too.
    """
    server = Lobbied()
    async with lobby(server, Canned()) as screen:
        await screen.click_on("n new room")
        await screen.click_on("Esc goes back")
        await screen.click_on("Chess: Mate the king.")
        await screen.click_on("level 3")
        await screen.shows("< computer, level 3")
        await screen.click_on("< computer, level 3")
        await screen.click_on("< computer, level 2")
        await screen.click_on("level 1 >")
        await screen.shows("< computer, level 2")
        await screen.click_on("Opponent")  # the name is no sign: it chooses the next value
        await screen.shows("< computer, level 3")
        await screen.click_on("< computer, level 3")
        await screen.pilot._post_mouse_events([MouseScrollUp], Fields, offset=(20, 1))
        await screen.shows("< computer, level 1")
        await screen.click_on("Enter creates it")
        await screen.until(lambda: server.created, "created")
        assert server.created[0]["seats"] == [{"who": "me"}, {"who": "ai", "level": 1}]


async def test_a_replay_opens_from_the_list() -> None:
    """Enter on a finished match opens its replay; leaving it shows the lobby again."""
    async with lobby(Lobbied(), Canned()) as screen:
        await screen.shows("Ada won")
        await screen.press("end", "enter")
        await screen.shows("Ada (Crosses) against AI level 1 (Noughts)", "Start")
        await screen.press("q")
        await screen.shows("New room")


async def test_a_lost_connection_shows_a_banner_and_the_list_stays() -> None:
    """While the server restarts the list stays below a banner, which goes when it is back."""
    server = Lobbied(room("c", BOB, None, state="open"))
    cut: list[Callable[[], None]] = []
    is_seen = asyncio.Event()

    async def first(link: Link) -> None:
        await link.hello()
        while True:
            message = await link.receive()
            await link.ack(message)
            if message["t"] == "watch_lobby":
                rooms = [msgspec.to_builtins(each) for each in server.rooms]
                await link.send({"t": "lobby", "full": True, "rooms": rooms})
            if cut:
                raise Close(1012)

    async def second(link: Link) -> None:
        await is_seen.wait()
        await server.serve(link)

    async with memory(first, second, jitter=lambda: 0.2) as connection:
        place = Place(connection, Canned(), FIXED_COLOURS, False, lambda error: None)
        async with running(lambda: LobbyScreen(place), 100, 30) as shown:
            connection.on_state = shown.app.show_state
            await shown.shows("Chess: Bob against a free seat")
            cut.append(lambda: None)
            connection._outbox.post('{"t":"watch_lobby","id":"x","on":true}')
            await shown.shows("The server restarts; trying again", "Chess: Bob against a free seat")
            is_seen.set()
            await shown.hides("The server restarts")
            await shown.shows("Chess: Bob against a free seat")


async def test_a_failing_request_is_a_sentence() -> None:
    """What cannot be fetched is named below the list, which keeps what it has."""
    requests = Canned()
    async with lobby(Lobbied(), requests) as screen:
        requests.problem = Unreachable("no server can be reached at http://script: refused")
        await screen.press("r")
        await screen.shows("no server can be reached", "Chess: Mate the king.")


async def test_the_first_screen_asks_for_a_server() -> None:
    """It starts a server here, or goes to an address; what is no address is a sentence."""
    entered: list[tuple[Address | None, str]] = []
    start = StartScreen(lambda address, room: entered.append((address, room)))
    async with running(lambda: start, 80, 24) as screen:
        await screen.shows("Play on this computer", "PLYROOM_PLAIN=1", "  serve  ", "  join LINK  ")
        await screen.hides("Go to the server")  # none is known to run
        await screen.press("enter")
        await screen.shows("Connecting to a server on this computer")
        await screen.press("down", "enter")
        line = screen.app.screen.query_one(Input)
        await screen.until(lambda: line.has_focus, "the line for the address")
        for wrong in ("ftp://nowhere", "not an address !!"):
            line.value = wrong
            await screen.click_on("Enter goes on")
            await screen.shows(f"'{wrong}' is not the address of a server")
        line.value = "See http://example.org/match/abc?ply=3, now"
        await screen.press("enter")
        await screen.shows("That is a match.", "plyroom replay http://example.org/match/abc")
        for link in ("example.org:8000/room/x", "Join me (http://example.org:8000/Room/x)."):
            line.value = link
            await screen.press("enter")
        there = (parse_address("http://example.org:8000"), "x")
        assert entered == [(None, ""), there, there]
        await screen.click_on("q leaves")
        await screen.until(lambda: not screen.app.is_running, "the end")


async def test_the_first_choices_are_the_servers_that_run_here() -> None:
    entered: list[tuple[Address | None, str]] = []
    here = (parse_address("http://127.0.0.1:9000"), parse_address("http://127.0.0.1:8000"))
    start = StartScreen(lambda address, room: entered.append((address, room)), here)
    async with running(lambda: start, 80, 24) as screen:
        await screen.shows(*[f"Go to the server that runs here, {each}" for each in here])
        await screen.press("enter", "down", "enter", "down", "enter")
        assert entered == [(here[0], ""), (here[1], ""), (None, "")]
        await screen.pilot.resize_terminal(60, 16)
        await screen.hides("join LINK")


def test_the_list_is_chosen_for_each_kind_of_opponent() -> None:
    """A room on one screen is in the list only if that is chosen for it, a friend's never is; and
    passing these does not list a room against the computer that was to be hidden.
    """
    listed: dict[str, str] = {}
    fields = fields_of(CHESS, ())
    numbers = {field.name: number for number, field in enumerate(fields)}

    def against(opponent: str) -> str:
        while fields[0].value != opponent:
            step_field(fields, 0, 1, listed)
        return create_command("c", CHESS, fields, "", 0).visibility

    assert against("level 4") == "public"
    step_field(fields, numbers["In the list"], 1, listed)
    assert [against("level 5"), against("screen"), against("friend")] == ["unlisted"] * 3
    step_field(fields, numbers["In the list"], 1, listed)
    assert against("friend") == "unlisted"
    against("screen")
    step_field(fields, numbers["In the list"], 1, listed)
    assert against("screen") == "public"
    assert [against("level 6"), against("screen")] == ["unlisted", "public"]


async def test_messages_of_the_lobby_leave_the_preview_and_the_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However often rows change, the board of an entry is fetched once for each of its plies, and
    what was told stays until the user highlights another entry.
    """
    monkeypatch.setattr("client.tui.lobby.PREVIEW_S", 0)
    server = Lobbied(room("c", BOB, ADA, length="1 move", ply=1))
    requests = Canned()

    def is_fetching() -> bool:
        return any(each.group == "preview" and not each.is_finished for each in screen.app.workers)

    async with lobby(server, requests) as screen:
        await screen.shows("1 move", "Tic-tac-toe")
        shown = screen.app.screen
        assert isinstance(shown, LobbyScreen)
        option = shown.query_one(OptionList).options[1]
        shown._tell("The room refused you.")
        for watching in range(1, 9):
            await server.change(room("c", BOB, ADA, length="1 move", ply=1, watching=watching))
            await screen.shows(f"{watching} watching")
        # The list was not built anew, so that it stays where it was scrolled to.
        assert shown.query_one(OptionList).options[1] is option
        await server.change(room("d", BOB, ADA, length="4 moves"))
        await screen.shows("4 moves", "The room refused you.", "Tic-tac-toe")
        await screen.pilot.pause()
        await screen.until(lambda: not is_fetching(), "the board")
        assert requests.previewed == ["c"]
        await server.change(room("c", BOB, ADA, length="2 moves", ply=2))
        await screen.shows("2 moves")
        await screen.press("r")
        await screen.until(lambda: requests.previewed == ["c", "c"], "the next ply")
        await screen.press("down")
        await screen.until(lambda: requests.previewed[2:] == ["d"], "the other room")
        assert shown._notice == ""


async def test_another_choice_on_the_first_screen_ends_the_visit_before() -> None:
    """A server that does not answer is given up for another one, whose lobby tells what waits in
    other rooms; leaving it goes back to the first screen.
    """
    ended: list[Address | None] = []
    server, links = Lobbied(), []

    async def serve(link: Link) -> None:
        links.append(link)
        await server.serve(link)

    @asynccontextmanager
    async def connect(chosen: Address | None) -> AsyncIterator[tuple[Address, Connection]]:
        try:
            if chosen is not None:
                await asyncio.Future()  # nobody answers
            async with memory(serve) as connection:
                yield ADDRESS, connection
        finally:
            ended.append(chosen)

    def place(
        address: Address, connection: Connection, on_failure: Callable[[PlyroomError], None]
    ) -> Place:
        return Place(connection, Canned(), FIXED_COLOURS, False, on_failure)

    here = (parse_address(DEFAULT_SERVER),)
    start = StartScreen(lambda chosen, room: visits.enter(chosen, room), here)
    async with running(lambda: start, 100, 30) as screen:
        visits = Visits(screen.app, start, connect, place)
        await screen.shows("Play on this computer")
        await screen.press("enter")
        await screen.shows("Connecting to http://")
        await screen.press("down", "enter")
        await screen.shows("You are Ada", "Chess: Mate the king.")
        assert ended == [parse_address(DEFAULT_SERVER)]
        told = {"t": "notification", "room": "z", "what": "turn", "text": "Your turn in \x1b[2Jz."}
        await links[0].send(told)
        await screen.shows("Your turn in [2Jz.")
        await screen.press("q")
        await screen.until(lambda: screen.app.screen is start, "the first screen")
        await screen.until(lambda: ended[1:] == [None], "the end of the visit")
        visits.enter(None, "zz")  # the link of a room, which this server does not know
        await screen.until(lambda: len(links) == 2, "another visit")
        await screen.shows("no: room.unknown")
        await visits.close()
        assert ended[2:] == [None]
