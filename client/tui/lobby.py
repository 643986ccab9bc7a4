"""The lobby: the user's matches, open seats, running rooms, games and replays.

The first screen asks for a server.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from client.address import Address, BadAddress, parse_address, parse_link
from client.api import GameInfo, Invitation, ListedMatch, MyMatches
from client.connection import Connection
from client.errors import PlyroomError, Refused
from client.program import first_steps, program
from client.terminal import words
from client.terminal.clocks import times_text
from client.terminal.names import OWN_NAME
from client.tui.board_pane import BoardPane
from client.tui.new_room import NewRoom
from client.tui.pages import KeyPage, Shortcut, TextPane, bindings
from client.tui.replay import ReplayScreen
from client.tui.requests import Requests
from client.tui.room import RoomScreen, Visit
from client.tui.sheets import keys_line
from engine.ends import has_result
from server.commands import Create
from server.events import Occupant
from server.protocol.messages import RoomSummary

#: The least width of a screen with a small board beside the list.
PREVIEW_COLUMNS = 76
#: The time for which an entry must be highlighted before its board is fetched, in seconds.
PREVIEW_S = 0.4
#: The rows from which on the first screen names commands.
STEPS_ROWS = 22
#: The least time between two requests for the user's own matches, in seconds.
RELOAD_S = 4.0


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the list. `kind` is "heading", "room", "match" or "game"; `key` is the id."""

    kind: str
    key: str
    text: str


def lobby_rows(
    rooms: Sequence[RoomSummary],
    mine: MyMatches,
    finished: Sequence[ListedMatch],
    games: Sequence[GameInfo],
    identity: str,
    wanted: str,
    server_ms: int,
) -> list[Row]:
    """The lines of the lobby: those that contain `wanted` in any case, under their headings."""
    waits = {each.room: each.text for each in mine.notifications}
    own = [
        Row(
            "room",
            room.room,
            waits.get(room.room) or f"{_title(room)}, play again: {_players(room.seats)}",
        )
        for room in sorted(mine.rooms, key=lambda room: room.room not in waits)
    ]
    own += [
        Row("room", match.room, f"{match.title}{_turn(match, identity)}: {_players(match.seats)}")
        for match in mine.running
        if match.room not in {room.room for room in mine.rooms}
    ]
    own += [
        Row("room", room.room, f"{_title(room)}: you wait for a player") for room in mine.waiting
    ]
    known = {row.key for row in own}
    others = [room for room in rooms if room.room not in known]
    open_rooms = [
        Row("room", room.room, f"{_title(room)}: {_players(room.seats)}")
        for room in others
        if room.state == "open"
    ]
    running = [
        Row("room", room.room, f"{_title(room)}: {_players(room.seats)}{_state(room, server_ms)}")
        for room in others
        if room.state != "open"
    ]
    ended = {match.match: match for match in (*mine.finished, *finished)}
    replays = [
        Row("match", match.match, f"{match.title}, {_result(match)}: {_players(match.seats)}")
        for match in ended.values()
    ]
    offered = [Row("game", game.id, f"{game.title}: {game.goal or 'a new room'}") for game in games]
    sections = (
        ("Your matches", own),
        ("Open seats", open_rooms),
        ("Running", running),
        ("New room", offered),
        ("Replays", replays),
    )
    rows: list[Row] = []
    for heading, entries in sections:
        clean = [Row(row.kind, row.key, words.quoted(row.text)) for row in entries]
        found = [row for row in clean if wanted.casefold() in row.text.casefold()]
        if found:
            rows += [Row("heading", heading, heading), *found]
    return rows


def _title(room: RoomSummary) -> str:
    options = words.options_text(room.options, room.options_text)
    return f"{room.title}{options}{words.clock_suffix(room.clock)}"


def _players(seats: Sequence[Occupant | None]) -> str:
    return " against ".join(words.quoted(seat.name) if seat else "a free seat" for seat in seats)


def _turn(match: ListedMatch, identity: str) -> str:
    """Whose turn it is in one of the user's own matches."""
    if match.turn is None:
        return ""
    return ", your turn" if match.seats[match.turn].identity == identity else ", their turn"


def _state(room: RoomSummary, server_ms: int) -> str:
    known = {"finished": "over", "playing": room.length or "playing"}
    state = known.get(room.state, words.quoted(room.state))
    times = times_text(room.times, server_ms)
    watching = f", {room.watching} watching" if room.watching else ""
    return f", {state}" + (f", {times}" if times else "") + watching


def _result(match: ListedMatch) -> str:
    if match.over is None:
        return "running"
    if match.over.winner is None:
        return "draw" if has_result(None, match.over.how) else "no result"
    return f"{words.quoted(match.seats[match.over.winner].name)} won"


@dataclass(frozen=True, slots=True)
class Place:
    """A server where the user is, and how its boards are drawn."""

    connection: Connection
    requests: Requests
    colours: int
    is_ascii: bool
    on_failure: Callable[[PlyroomError], None]
    on_mouse: Callable[[bool], bool] = lambda is_taken: is_taken


class LobbyScreen(KeyPage):
    """Lists what goes on at a server, and opens rooms and replays."""

    CSS = """
    #lists { height: 1fr; width: 100%; layout: horizontal; }
    #rows { width: 1fr; height: 100%; border: none; padding: 0; background: ansi_default;
        text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size: 1 1; }
    #preview { width: 36; height: 100%; padding: 0 0 0 1; border-left: solid ansi_blue; }
    #preview BoardPane { height: 1fr; width: 100%; }
    #filter { border: none; height: 1; padding: 0; background: ansi_default; display: none; }
    """
    HEADING = "What you can do here"
    KEYS = (
        Shortcut("", "Enter", "opens what is highlighted", "open"),
        Shortcut("n", "n", "a new room: game, opponent, side, options, clock", "new"),
        Shortcut("slash", "/", "shows only what contains a text", "filter"),
        Shortcut("r", "r", "fetches the lists again", "reload"),
        Shortcut("escape", "Esc", "shows everything again", "clear"),
    )
    BINDINGS = bindings(KEYS)
    AUTO_FOCUS = "#rows"

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._rooms: dict[str, RoomSummary] = {}
        self._mine = MyMatches()
        self._finished: tuple[ListedMatch, ...] = ()
        self._games: tuple[GameInfo, ...] = ()
        self._strategies: tuple[str, ...] = ()
        self._wanted = ""
        self._rows: list[Row] = []
        self._problem = ""
        self._notice = ""
        self._board = BoardPane(place.colours, place.is_ascii)
        self._reload_is_due = False
        #: The first entry, which is highlighted until the user chooses another one.
        self._first_key: str | None = None
        self._highlighted: str | None = None
        #: The row whose board is shown or fetched (kind, key), and its ply; None without one.
        self._previewed: tuple[str, str, int] | None = None

    def compose(self) -> ComposeResult:
        yield from self.compose_head()
        with Container(id="lists"):
            yield OptionList(id="rows")
            with Vertical(id="preview"):
                yield Static(id="preview-title", markup=False)
                yield self._board
        yield Input(id="filter", placeholder="Only what contains ...")
        yield TextPane(id="keys")

    def on_mount(self) -> None:
        """Begins to follow the lobby."""
        self.run_worker(self._watch(), name="lobby")
        self.run_worker(self._load(), group="load")
        self.set_interval(RELOAD_S, self._reload_if_due)
        self._draw()

    async def _watch(self) -> None:
        """Keeps the list of rooms; after a reconnect it arrives whole."""
        try:
            async with aclosing(self._place.connection.lobby()) as changes:
                async for change in changes:
                    if change.full:
                        self._rooms.clear()
                    self._rooms |= {room.room: room for room in change.rooms}
                    for gone in change.gone:
                        self._rooms.pop(gone, None)
                    self._reload_is_due = True
                    self._draw()
        except PlyroomError as error:
            self._place.on_failure(error)

    async def _load(self) -> None:
        """Fetches the lists that the lobby's messages do not have; keeps the old ones otherwise."""
        requests = self._place.requests
        try:
            self._games = self._games or await requests.games()
            self._strategies = self._strategies or await requests.strategies()
            self._mine = await requests.my_matches()
            self._finished = await requests.finished()
            self._problem = ""
        except PlyroomError as error:
            self._problem = str(error)
        self._draw()
        if self.is_current:
            self._start_preview()

    def _reload_if_due(self) -> None:
        if self._reload_is_due and self.is_current:
            self._reload_is_due = False
            self.run_worker(self._load(), group="load", exclusive=True)

    def reload(self) -> None:
        """Fetches the lists again soon: something waits for the user."""
        self._reload_is_due = True

    def on_screen_resume(self) -> None:
        """Fetches the lists again after a room or a replay."""
        self._reload_is_due = True

    # --- drawing

    def on_resize(self) -> None:
        """Shows the small board only where there is space for it."""
        self._start_preview()

    def _show_preview(self) -> bool:
        """Shows or hides the small board; returns whether it is there."""
        at = self.query_one("#rows", OptionList).highlighted
        has_board = at is not None and self._rows[at].kind in ("room", "match")
        is_shown = has_board and self.size.width >= PREVIEW_COLUMNS
        self.query_one("#preview").display = is_shown
        return is_shown

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#rows"):
            return
        connection, requests = self._place.connection, self._place.requests
        title = f"Plyroom  {requests.address}"
        if connection.name != OWN_NAME:
            title += f"  You are {words.quoted(connection.name)}"
        self.query_one("#title", TextPane).show(Text(title))
        self._rows = lobby_rows(
            list(self._rooms.values()),
            self._mine,
            self._finished,
            self._games,
            connection.identity,
            self._wanted,
            connection.server_ms(),
        )
        listed = self.query_one("#rows", OptionList)
        at = listed.highlighted
        key = listed.get_option_at_index(at).id if at is not None else None
        options = [
            Option(
                Text(row.text, style="bold") if row.kind == "heading" else Text(f"  {row.text}"),
                id=f"{row.kind} {row.key}",
                disabled=row.kind == "heading",
            )
            for row in self._rows
        ]
        ids = [option.id for option in options]
        if ids == [option.id for option in listed.options]:
            for index, option in enumerate(options):
                if str(option.prompt) != str(listed.get_option_at_index(index).prompt):
                    listed.replace_option_prompt_at_index(index, option.prompt)
        else:
            listed.clear_options()
            listed.add_options(options)
            is_chosen = key in ids and key != self._first_key
            self._first_key = ids[1] if len(ids) > 1 else None
            listed.highlighted = ids.index(key) if is_chosen else 1 if len(ids) > 1 else None
            self._show_preview()
        hint = keys_line(
            ("Enter open", "open"), ("n new room", "new"), ("? help", "help"),
            ("q leave", "leave"), ("/ filter", "filter"),
        )  # fmt: skip
        if not self._rows and self._wanted:
            nothing = f"Nothing contains {self._wanted!r}."
            hint = keys_line((nothing, ""), ("Esc shows all", "clear"))
        elif self.query_one("#filter").has_focus:
            hint = keys_line(("Enter: to the list", "to_list"), ("Esc: shows all", "clear"))
        told = self._notice or self._problem
        self.query_one("#keys", TextPane).show(Text(told) if told else hint)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Shows the board of a room or a replay that stays highlighted."""
        if event.option.id == self._highlighted:
            return  # the list was built anew
        self._highlighted = event.option.id
        if self._highlighted != self._first_key:
            self._notice = ""
        self._start_preview()

    def _start_preview(self) -> None:
        """Fetches the board of the highlighted entry, unless it is there or on its way already."""
        at = self.query_one("#rows", OptionList).highlighted
        if not self._show_preview() or at is None:
            return
        row = self._rows[at]
        room = self._rooms.get(row.key) if row.kind == "room" else None
        wanted = (row.kind, row.key, 0 if room is None else room.ply)
        if wanted != self._previewed:
            self._previewed = wanted
            self.run_worker(self._preview(row.kind, row.key), group="preview", exclusive=True)

    async def _preview(self, kind: str, key: str) -> None:
        import asyncio

        await asyncio.sleep(PREVIEW_S)
        requests = self._place.requests
        try:
            record = (
                await requests.match(key) if kind == "match" else await requests.last_match(key)
            )
            if record is None or record.view is None:
                self._board.show(None, None, (), False, {})
                self.query_one("#preview-title", Static).update("")
                return
            ply = len(record.moves)
            views = await requests.views(record.match, ply, ply)
        except PlyroomError:
            self._previewed = None
            return  # the list says what is wrong, if it lasts
        self.query_one("#preview-title", Static).update(Text(record.title, style="bold"))
        drawn_by = words.seats_by_move(record.moves)
        self._board.show(record.view, views[0], (), False, {}, drawn_by)

    # --- what the user does

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Opens a room or a replay, or the sheet for a new room of a game."""
        kind, _, key = (event.option.id or "").partition(" ")
        match kind:
            case "room":
                summary = self._rooms.get(key)
                self.open(key, sit=summary is not None and summary.state == "open")
            case "match":
                self.run_worker(self._replay(key))
            case "game":
                self.action_new(key)

    def open(self, room: str, sit: bool = False, invitation: Invitation | None = None) -> None:
        """Opens a room; with `sit` the user takes a free seat, with an `invitation` they are told
        how to invite an opponent.
        """
        place, address = self._place, self._place.requests.address
        visit = Visit(place.connection, address, room, sit, invitation, place.requests)

        def end(error: PlyroomError) -> None:
            """Goes back to the lobby if only the room refuses the user."""
            if isinstance(error, Refused):
                screen.leave()
                self._tell(error.message)
            else:
                place.on_failure(error)

        screen = RoomScreen(visit, place.colours, place.is_ascii, end, place.on_mouse)
        self.app.push_screen(screen)

    async def _replay(self, match: str) -> None:
        place = self._place
        try:
            record = await place.requests.match(match)
            last = len(record.moves)
            views = await place.requests.views(match, 0, last) if record.view is not None else []
            record = await place.requests.with_assessments(record)
        except PlyroomError as error:
            self._problem = str(error)
            self._draw()
            return
        self.app.push_screen(
            ReplayScreen(
                record, views, place.requests, place.colours, place.is_ascii, 0, self._create
            )
        )

    def action_new(self, game: str = "") -> None:
        """Opens the sheet for a new room."""
        self._notice = ""
        if not self._games:
            self.action_reload()
            return
        new_id = self._place.connection.new_id()
        self.app.push_screen(NewRoom(self._games, self._strategies, game, new_id), self._create)

    def _create(self, command: Create | None) -> None:
        if command is not None:
            self.run_worker(self._send(command))

    async def _send(self, command: Create) -> None:
        try:
            room = (await self._place.connection.command(command)).room
        except PlyroomError as error:
            self._tell(str(error))
            return
        assert isinstance(room, str), "the ack of create names the room"
        invitation = None
        if command.visibility == "unlisted":
            invitation = await self._place.requests.invitation(room)
        self.open(room, invitation=invitation)

    def _tell(self, text: str) -> None:
        """Shows a sentence until the user does something else."""
        if isinstance(self.app.screen, ReplayScreen):
            self.app.screen.show_message(text)
        self._notice = text
        self._draw()

    def action_filter(self) -> None:
        """Opens the line for the filter."""
        line = self.query_one("#filter", Input)
        line.display = True
        line.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows only what contains the text."""
        self._wanted = event.value.strip()
        self._draw()

    def on_descendant_focus(self) -> None:
        """Says which keys there are."""
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes back to the list."""
        event.input.display = bool(event.value)
        self.query_one("#rows").focus()

    async def action_to_list(self) -> None:
        """Goes back to the list."""
        await self.query_one("#filter", Input).action_submit()

    def action_clear(self) -> None:
        """Shows everything again."""
        line = self.query_one("#filter", Input)
        line.value = ""
        line.display = False
        self.query_one("#rows").focus()

    def action_reload(self) -> None:
        """Fetches the lists again."""
        self.run_worker(self._load(), group="load", exclusive=True)

    def action_open(self) -> None:
        """Opens what is highlighted."""
        self.query_one("#rows", OptionList).action_select()


class StartScreen(Screen[None]):
    """Asks where to play: on a server that is started here, or at an address. `enter` gets the
    address, None for a server that is started, and the id of a room or "". `running` are the
    servers that are known to run here, which are then the first choices.
    """

    CSS = """
    StartScreen { layout: vertical; background: ansi_default; color: ansi_default; padding: 1 2; }
    StartScreen Static { height: auto; width: 100%; }
    StartScreen OptionList { height: auto; border: none; padding: 0; background: ansi_default; }
    #address { border: none; height: 1; padding: 0; background: ansi_default; }
    #start-problem { text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,escape,ctrl+c", "leave", show=False)]
    AUTO_FOCUS = "OptionList"

    def __init__(
        self, enter: Callable[[Address | None, str], None], running: Sequence[Address] = ()
    ) -> None:
        super().__init__()
        self._enter = enter
        self._servers = running

    def compose(self) -> ComposeResult:
        yield Static(Text("Plyroom", style="bold"))
        yield Static("Board games with people and with an AI whose thinking anyone can watch.\n")
        servers = [
            Option(f"Go to the server that runs here, {server}", id=f"server-{number}")
            for number, server in enumerate(self._servers)
        ]
        without = " without it" if len(servers) == 1 else " without them" if servers else ""
        yield OptionList(
            *servers,
            Option(f"Play on this computer{without}", id="own"),
            Option("Go to a server at another address", id="address"),
        )
        yield Input(id="address", placeholder="http://host:8000, or the link of a room")
        yield Static(id="start-problem", markup=False)
        plain = f"`{program()} --plain --help` and PLYROOM_PLAIN=1"
        yield Static(
            keys_line(("\nArrows choose", ""), ("Enter goes on", "go_on"), ("q leaves", "leave"))
        )
        hint = f"{plain}: plain lines, for screen readers and braille displays."
        yield Static(hint, markup=False)
        yield Static(
            "\n".join(["\nWithout this screen:", *first_steps()]), id="steps", markup=False
        )

    def on_mount(self) -> None:
        """Hides the line for the address until it is wanted."""
        self.query_one("#address").display = False

    def on_resize(self) -> None:
        """Leaves out what would push the choices out of a small screen."""
        self.query_one("#steps").display = self.size.height >= STEPS_ROWS

    def show_problem(self, text: str) -> None:
        """Shows why a server could not be entered, or what is being done; "" for nothing."""
        self.query_one("#start-problem", Static).update(Text(words.quoted(text)))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Goes to a server, or asks for its address."""
        chosen = event.option.id or ""
        self.query_one("#address").display = chosen == "address"
        if chosen == "own":
            self._go(None)
        elif chosen.startswith("server-"):
            self._go(self._servers[int(chosen.removeprefix("server-"))])
        else:
            self.show_problem("")
            self.query_one("#address").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes to the server at the address, and to the room of a link."""
        text = event.value
        try:
            if "/match/" in text.lower():
                address, match = parse_link(text)
                command = f"{program()} replay {address}/match/{match}"
                self.show_problem(f"That is a match. To replay it: {command}")
                return
            address, room = parse_link(text) if "/room/" in text.lower() else (None, "")
            address = address or parse_address(text)
        except BadAddress as error:
            self.show_problem(str(error))
        else:
            self._go(address, room)

    def _go(self, address: Address | None, room: str = "") -> None:
        where = "a server on this computer, which starts" if address is None else str(address)
        self.show_problem(f"Connecting to {where} ...")
        self._enter(address, room)

    async def action_go_on(self) -> None:
        """Goes to the address that is typed, or to what is chosen."""
        address = self.query_one("#address", Input)
        if address.display:
            await address.action_submit()
        else:
            self.query_one(OptionList).action_select()

    def action_leave(self) -> None:
        """Ends the application."""
        self.dismiss(None)
