"""A room on the whole screen: board, players, moves, thinking, chat, people, and an input line.

Line mode runs behind the screen: it keeps the model, executes what is typed and tells what happens;
the screen draws the model. So every word of line mode works here too.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.events import Click
from textual.timer import Timer
from textual.widgets import Input, Static

from client.address import Address
from client.api import Invitation
from client.connection import Connection
from client.errors import PlyroomError, Refused
from client.messages import RoomMessage
from client.model import Model
from client.terminal import words
from client.terminal.clocks import clock_of, side_text, standing_text
from client.terminal.commands import (
    HELP,
    CommandName,
    PressKey,
    RunCommand,
    Unclear,
    is_permitted,
    no_moves_reason,
    parse_line,
    sorted_ids,
)
from client.terminal.line import LineMode
from client.terminal.wrapping import visible_width, wrap
from client.tui.board_pane import DIRECTIONS, BoardPane
from client.tui.entry import Completion, Entry
from client.tui.lines import LineQueue, ScreenOutput
from client.tui.pages import Page, TextPane
from client.tui.panels import (
    Offer,
    large_time,
    moves_lines,
    notes,
    offers,
    people_lines,
    player_text,
    thinking_lines,
    with_side_colours,
)
from client.tui.picking import buttons
from client.tui.picture import half_blocks
from client.tui.requests import GLASS_DEPTH, Requests
from client.tui.sheets import (
    LinkSheet,
    Menu,
    MenuEntry,
    Question,
    TextSheet,
    ask_for_one,
    close_above,
    keys_line,
)
from engine.view import MoveView
from server.commands import Move
from server.protocol.messages import Answer, CommandFrame, Snapshot, Thinking
from server.rooms.clock import sides_at

#: The tabs of the panel.
TABS = ("Moves", "Thinking", "Chat", "People")
#: The least width of the panel beside the board, and its least height below it.
PANEL_COLUMNS, PANEL_ROWS = 30, 4
#: The least width of the names beside the panel.
NAME_COLUMNS = 24
#: Maximum number of offers that are shown.
MAX_OFFERS = 2
#: Screens with fewer rows have neither the names above and below the board nor the line of keys.
LOW_ROWS = 18
#: The columns of the keys beside the input line of such screens.
LOW_KEYS_COLUMNS = 5
#: Screens with at least these rows have large clocks.
LARGE_ROWS = 30
#: Maximum number of rows of a message, and the columns that a break of its line may waste.
MAX_MESSAGE_ROWS, WRAP_COLUMNS = 3, 10
#: The beginning of the answer to picking a cell in vain.
NO_MOVE = "No move of yours begins with"
#: What stands at the end of a message that is cut.
CUT = " … (tab Chat)"
#: Maximum number of lines of what happened that are kept.
MAX_LOG_LINES = 500
#: The least time between two drawings of an AI's thinking, in seconds.
THINKING_S = 0.25
#: The time between two drawings of a running clock, in seconds.
CLOCK_S = 0.5
#: The keys of the board, each with the word that does the same and what it does.
KEYS = (
    ("f", "flip", "turn the board"),
    ("b", "bell", "the bell when it is your turn: on or off"),
    ("g", "glass", "a search of this position, step by step"),
    ("c", "link", "the link of this room, and its QR code"),
    ("t", "tab", "the next tab: moves, thinking, chat, people"),
    ("?", "help", "what may be done now"),
    ("q", "quit", "leave the room"),
)
#: The words that say nothing alone: choosing one in the menu puts it into the input line.
NEED_MORE = {
    "say", "name", "mute", "unmute", "mute-all", "unmute-all", "next", "ai", "allow-help"
}  # fmt: skip
#: The words of this screen that line mode does not have.
OWN_WORDS = {word: key for key, word, _ in KEYS if word not in ("help", "quit")}
#: The words that stand for a key: those, and what people type elsewhere.
KEYS_OF_WORDS = OWN_WORDS | {"copy": "c", "share": "c", "invite": "c", "turn": "f"}


@dataclass(frozen=True, slots=True)
class Visit:
    """How a user enters a room: with `sit` they take a free seat, with an `invitation` they are
    told how to invite an opponent. Without `requests` there is no reader of moves and no glass box.
    `place_text` says where the match is kept.
    """

    connection: Connection
    address: Address
    room: str
    sit: bool = False
    invitation: Invitation | None = None
    requests: Requests | None = None
    place_text: str = ""


class Tail(VerticalScroll):
    """Shows the end of a text that grows, until the user scrolls up; also where the space for it
    shrinks. `follow` makes it show the beginning instead.
    """

    #: Whether the text is one whose end is wanted, and whether it is shown now.
    _wants_end = _is_following = True

    def follow(self, is_end: bool) -> None:
        """Shows the end from now on, or the beginning."""
        self._wants_end = self._is_following = is_end
        if is_end:
            self.keep()
        else:
            self.scroll_home(animate=False)

    def keep(self) -> None:
        """Shows the end again if it was shown."""
        if self._is_following:
            self.scroll_end(animate=False)

    def turn(self, pages: int) -> None:
        """Scrolls by a page for the user."""
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False, immediate=True)
        self._notice_end()

    def on_resize(self) -> None:
        """Shows the end again."""
        self.keep()

    def _notice_end(self) -> None:
        """Follows the text if its end is wanted and the user has scrolled there."""
        self._is_following = self._wants_end and self.scroll_target_y >= self.max_scroll_y

    def on_mouse_scroll_down(self) -> None:
        """Notices how far the user scrolls."""
        self.call_later(self._notice_end)

    def on_mouse_scroll_up(self) -> None:
        """Notices how far the user scrolls."""
        self.call_later(self._notice_end)

    def on_scroll_to(self) -> None:
        """Notices how far the user drags the bar."""
        self.call_later(self._notice_end)


class RoomScreen(Page):
    """Shows a room and executes what the user types, walks and clicks."""

    CSS = """
    #main { height: 1fr; width: 100%; layout: horizontal; }
    #left { height: 100%; width: auto; padding: 0 1 0 0; }
    #board { height: 1fr; width: 100%; }
    .player { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #panel { height: 100%; width: 1fr; border-left: solid ansi_blue; padding: 0 0 0 1; }
    #main.stacked { layout: vertical; }
    #main.stacked #left { width: 100%; padding: 0; }
    #main.stacked #panel { border-left: none; border-top: solid ansi_blue; width: 100%;
        padding: 0; height: 1fr; }
    #tabs { height: 1; }
    #scroll { height: 1fr; scrollbar-size: 1 1; }
    #note { text-style: dim; }
    #offers { height: auto; }
    #message { height: auto; max-height: 3; }
    #entry { height: 1; border: none; padding: 0; background: ansi_default; }
    #row { height: 1; layout: horizontal; }
    #row Static { width: 2; }
    #entry { width: 1fr; }
    #row #low-keys { width: 5; padding: 0 0 0 1; text-style: dim; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "menu", "help"),
        Binding("f2", "answer(0)", show=False),
        Binding("f3", "answer(1)", show=False),
        Binding("f4", "answer(2)", show=False),
        Binding("f9", "withdraw", show=False),
        Binding("ctrl+t", "key('t')", show=False, priority=True),
        Binding("ctrl+c", "leave", show=False, priority=True),
        Binding("pageup", "scroll_panel(-1)", show=False, priority=True),
        Binding("pagedown", "scroll_panel(1)", show=False, priority=True),
        *[Binding(key, f"walk('{key}')", show=False) for key in DIRECTIONS],
        Binding("space,enter", "pick", show=False),
        Binding("escape,tab", "drop", show=False),
        Binding("y", "accept('accept')", show=False),
        Binding("n", "accept('decline')", show=False),
        *[
            Binding(key.replace("?", "question_mark"), f"key('{key}')", show=False)
            for key, *_ in KEYS
        ],
    ]
    AUTO_FOCUS = "#entry"

    def __init__(
        self,
        visit: Visit,
        colours: int,
        is_ascii: bool,
        on_failure: Callable[[PlyroomError], None],
        on_mouse: Callable[[bool], bool] = lambda is_taken: is_taken,
    ) -> None:
        super().__init__()
        self._visit = visit
        #: The link for other people, until the server is asked as the user knows it.
        self._invitation = visit.invitation or Invitation(visit.address.room_url(visit.room))
        self._has_asked = visit.invitation is not None
        #: Takes the mouse (True) or gives it back to the terminal, for copying; returns whether it
        #: is here.
        self._on_mouse = on_mouse
        self._on_failure = on_failure
        self._can_hide = False
        self._is_ascii = is_ascii
        self._lines = LineQueue()
        self.model = Model(room=visit.room, me=visit.connection.identity)
        self._log: deque[tuple[str, bool]] = deque(maxlen=MAX_LOG_LINES)
        self._notice = self._prompt = ""
        #: How the move was read that is being played: the message after it.
        self._reading = ""
        #: What is under the cursor.
        self._cell_text = ""
        self._tab = 0
        #: Whether the panel stands in the place of the board, where there is no space for both.
        self._shows_panel = False
        self._is_flipped = False
        self._has_bell = True
        self._was_my_turn = False
        #: Letters on the cells of the arrows of the last answer, and its position.
        self._letters: dict[str, str] = {}
        self._lettered_at: tuple[str, int] = ("", -1)
        self._thinking_timer: Timer | None = None
        #: When the present `gone_ms` arrived, in seconds of the monotonic clock.
        self._presence_at_s = 0.0
        #: Whether the message says that no clock goes down, with a time that changes.
        self._shows_standing = False
        self._mode: LineMode | None = None
        self._board = BoardPane(colours, is_ascii, id="board")
        self._unread = 0
        #: The rows that a message may take without taking them from the board.
        self._message_rows = 1

    # --- set-up

    def compose(self) -> ComposeResult:
        yield from self.compose_head()
        with Container(id="main"):
            with Vertical(id="left"):
                yield TextPane(id="above", classes="player")
                yield self._board
                yield TextPane(id="below", classes="player")
            with Vertical(id="panel"):
                yield TextPane(id="tabs")
                with Tail(id="scroll", can_focus=False):
                    yield TextPane(id="text")
        yield TextPane(id="note")
        yield TextPane(id="offers")
        yield TextPane(id="message")
        with Container(id="row"):
            yield Static("> ", id="mark", markup=False)
            yield Entry(id="entry", suggester=Completion(self._completions), select_on_focus=False)
            yield Static(keys_line(("?", "menu"), ("t", "key('t')")), id="low-keys")
        yield TextPane(id="keys")

    def on_mount(self) -> None:
        """Begins to follow the room."""
        visit = self._visit
        self._mode = LineMode(
            visit.connection,
            visit.address,
            visit.room,
            self._lines,
            ScreenOutput(
                self.log_line,
                self._log_reading,
                self._show_prompt,
                self._ask,
                self._give_back,
                lambda: self.size.width,
            ),
            sit=visit.sit,
            brief=True,
            invitation=visit.invitation,
            read_move=visit.requests.reading if visit.requests is not None else None,
            on_message=self._receive,
        )
        if visit.place_text:
            self.log_line(visit.place_text, is_notice=True)
        self.run_worker(self._follow(self._mode), name="room")
        self.set_interval(CLOCK_S, self._tick)
        self._draw()

    async def _follow(self, mode: LineMode) -> None:
        try:
            await mode.run()
        except PlyroomError as error:
            self._on_failure(error)
            return
        # Nothing follows the room any more: a question whose answer could be no has no sense.
        self.leave()

    # --- what happens

    def _receive(self, model: Model, message: RoomMessage) -> None:
        """Draws the model after a message."""
        before, self.model = self.model, model
        if isinstance(message, Thinking):
            if self._thinking_timer is None:
                self._thinking_timer = self.set_timer(THINKING_S, self._draw_thinking)
            return
        if isinstance(message, Answer) and message.arrows:
            self._letters = _letters(message)
            self._lettered_at = self._place()
        if self._place() != self._lettered_at:
            self._letters = {}
        if model.ply != before.ply or model.running != before.running:
            self._notice, self._reading, self._cell_text = self._reading, "", ""
        if _count_offers(model) > _count_offers(before):
            self._notice = ""  # the bar says it
        if isinstance(message, Snapshot) and self._waits:
            self._notice = ""  # the link is what the user needs first
        if before.gone_ms != model.gone_ms:
            self._presence_at_s = time.monotonic()
        self._ring()
        self._draw()

    def _place(self) -> tuple[str, int]:
        return (self.model.match.id if self.model.match else "", self.model.ply)

    def _ring(self) -> None:
        """Rings the bell when the viewer's turn begins."""
        is_my_turn = bool(self.model.moves)
        if is_my_turn and not self._was_my_turn and self._has_bell and self.model.ply:
            self.app.bell()
        self._was_my_turn = is_my_turn

    def log_line(self, text: str, is_notice: bool) -> None:
        """Adds lines to what happened; the last one is shown below the board too."""
        for line in text.split("\n"):
            clean = words.quoted(line.expandtabs())
            self._log.append((clean, is_notice))
        if not is_notice and TABS[self._tab] != "Chat":
            self._unread += 1
        lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()] or [""]
        ended = [line if line.endswith((":", ".", "!", "?")) else f"{line};" for line in lines[:-1]]
        self._notice, self._reading = words.quoted(" ".join([*ended, lines[-1]])), ""
        if self.is_mounted:
            self._draw()

    def _log_reading(self, text: str) -> None:
        """Says how a move was read, also after the move until the next one."""
        self.log_line(text, is_notice=True)
        self._reading = self._notice

    def _ask(self, question: str) -> None:
        """Asks a question of line mode in a sheet."""
        self.app.push_screen(
            Question(question), lambda is_yes: self._lines.put("yes" if is_yes else "no")
        )

    def _give_back(self, line: str) -> None:
        """Puts a line back that the server refused, unless the user types another one."""
        entry = self.query_one("#entry", Input)
        if not entry.value:
            entry.value = line
            entry.action_end()

    def _show_prompt(self, prompt: str) -> None:
        """Shows the prompt of line mode in the input line."""
        self._prompt = prompt
        if self.is_mounted:
            self._draw_prompt()

    def _draw_prompt(self) -> None:
        row = self.size.width - visible_width("> ") - 1  # its last column is the cursor's
        space = row - LOW_KEYS_COLUMNS if self._is_low else row
        self.query_one("#entry", Input).placeholder = _fitting_prompt(
            self._with_example(self._prompt), self._prompt, space
        )

    def show_banner(self, text: str) -> None:
        super().show_banner(text)
        if self.is_mounted:
            self._draw()

    def _with_example(self, prompt: str) -> str:
        """The prompt for a move with one of the moves, so that it says how they are written."""
        moves = [move for move in self.model.moves if move.path]
        if not moves or "move" not in prompt:
            return prompt
        move = moves[len(moves) // 2]
        example = move.id if " " in move.text else move.text or move.id
        return prompt.replace(" (", f", such as {words.quoted(example)} (", 1)

    # --- drawing

    def on_resize(self) -> None:
        """Arranges the screen anew."""
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#entry"):
            return
        self._draw_prompt()
        self._draw_offers()
        self._draw_message()
        self._draw_players()
        self._arrange()
        self._draw_panel()

    @property
    def _is_low(self) -> bool:
        return self.size.height < LOW_ROWS

    @property
    def _bottom(self) -> int:
        """The seat below the board."""
        seat = self.model.my_seat if not self.model.is_one_screen else 0
        own = 0 if seat is None else seat
        return own ^ self._is_flipped

    @property
    def _flips(self) -> bool:
        board = words.board_of(self.model)
        flips = board is not None and board.board.flips and self.model.my_seat == 1
        if self.model.is_one_screen:
            flips = False
        return flips ^ self._is_flipped

    def _draw_board(self) -> None:
        model = self.model
        drawn_by = words.seats_by_move(model.match.moves) if model.match is not None else {}
        self._board.show(
            words.board_of(model), model.view, model.moves, self._flips, self._letters, drawn_by
        )

    def _draw_players(self) -> None:
        model, bottom = self.model, self._bottom
        title = Text(words.quoted(words.room_title(model)), style="bold")
        if model.description is None:
            title = Text("Opening the room ...")
        if model.watching:
            title.append(f"  {model.watching} watching", style="not bold dim")
        if self._is_low and model.match is not None:
            title = Text("  ").join(self._player(seat, True) for seat in (bottom, 1 - bottom))
        self.query_one("#title", TextPane).show(title)
        for place, seat in (("#above", 1 - bottom), ("#below", bottom)):
            bar = self.query_one(place, TextPane)
            bar.display = not self._is_low
            is_large = self._has_large_clocks
            bar.styles.height = 3 if is_large else 1
            bar.show(self._with_large_clock(seat) if is_large else self._player(seat, False))
        self._draw_keys()

    def _draw_keys(self) -> None:
        """Shows what the keys do, and whether what is typed goes into the line."""
        keys = self.query_one("#keys", TextPane)
        keys.display = not self._is_low
        self.query_one("#low-keys").display = self._is_low
        keys.show(self._keys_text())
        self.query_one("#mark", Static).update("  " if self._has_keys else "> ")

    def _player(self, seat: int, is_short: bool) -> Text:
        text = player_text(self.model, seat, self._is_ascii)
        line = self._coloured(text.removesuffix(" (you)") if is_short else text, (" ", ":"))
        line.no_wrap = True
        turn = self.model.view.turn if self.model.view is not None else None
        if turn == seat and self.model.running:
            line.stylize("bold")
        if (clock := self._clock_of(seat)) is not None:
            line.append(f"  {clock}", style="bold reverse" if turn == seat else "bold")
        return line

    def _coloured(self, text: str, around: tuple[str, str]) -> Text:
        """A line in which the signs of the sides have the colours of the pieces."""
        board = words.board_of(self.model)
        return with_side_colours(Text(text), board, self._is_ascii, self._board.colours, around)

    @property
    def _has_large_clocks(self) -> bool:
        """Whether the clocks are three rows high."""
        return self.size.height >= LARGE_ROWS and not self._is_ascii and bool(self._clock_of(0))

    def _with_large_clock(self, seat: int) -> Text:
        """The player of a side with a large clock, in three rows."""
        rows = large_time(self._clock_of(seat) or "")
        name = player_text(self.model, seat, self._is_ascii)
        turn = self.model.view.turn if self.model.view is not None else None
        style = "bold" if turn == seat and self.model.running else ""
        text = self._coloured(f"  {rows[0]}\n  {rows[1]}  {name}\n  {rows[2]}", (" ", ":"))
        text.style, text.no_wrap = style, True
        return text

    def _clock_of(self, seat: int) -> str | None:
        """The time that a side has left, as text; None without a clock."""
        clock = clock_of(self.model.match.clock if self.model.match is not None else None)
        if clock is None:
            return None
        return side_text(clock, sides_at(clock, self._visit.connection.server_ms())[seat])

    def _keys_text(self) -> Text:
        if self._has_keys:
            shown = [(f"{key} {word}", f"key('{key}')") for key, word, _ in KEYS if key != "q"]
            keys = keys_line(*shown, ("q leave", "leave"), (" Esc: type", "drop"))
            return Text("KEYS: ", no_wrap=True, overflow="ellipsis").append_text(keys)
        return keys_line(
            ("Arrows, Space: move on the board", ""),
            ("Enter: send", "send"),
            ("Esc: keys", "give_keys"),
            ("?: help", "menu"),
            between="   ",
        )

    @property
    def _has_keys(self) -> bool:
        """Whether letters are keys, because the input line does not have the focus."""
        return self.focused is not None and self.focused is self._board

    def _draw_offers(self) -> None:
        shown = offers(self.model)
        bar = self.query_one("#offers", TextPane)
        lines = Text("\n").join([self._offer_text(offer) for offer in shown[:MAX_OFFERS]])
        bar.display = bool(shown)
        bar.show(lines)

    def _offer_text(self, offer: Offer) -> Text:
        text = Text(self._with_countdown(offer), style="bold")
        first = _others(offers(self.model))[:1] == [offer]
        for number, (line, label) in enumerate(offer.answers):
            text.append("  ")
            key = f"F{number + 2} " if first and number < 3 else ""
            key = "F9 " if offer.is_own else key
            button = Text(f" {key}{label} ", style="reverse")
            button.apply_meta({"@click": f"screen.say('{line}')"})
            text.append_text(button)
        return text

    def _with_countdown(self, offer: Offer) -> str:
        """The sentence of an offer; about a player who has gone with the time until a claim."""
        if offer.claim_ms is None:
            return offer.text
        since_ms = 1000 * (time.monotonic() - self._presence_at_s)
        left_s = max(0, round((offer.claim_ms - since_ms) / 1000))
        return f"{offer.text} You may claim the match in {left_s} s, or wait."

    def _draw_message(self) -> None:
        state = ""
        model = self.model
        if model.match is not None and model.match.over is None and model.view is not None:
            state = words.position_text(words.board_of(model), model.view)
            if is_own_turn(model):
                state = f"Your turn: {state}"
            state += _side_after_swap(model)
        others = buttons(model.moves, board.targets) if (board := words.board_of(model)) else []
        is_told = any(offer.text == self._notice for offer in offers(model))
        notice = "" if is_told else self._notice
        if self._waits:
            # The link can be selected while it stands on one line.
            notice = notice or self._invitation.link
        text = Text(notice or words.quoted(state))
        standing = standing_text(model, self._visit.connection.server_ms())
        if self._notice.startswith("error:"):
            text = Text(_as_sentence(self._notice.removeprefix("error: ")), style="bold")
            if self._board.colours:
                text.stylize("red")
        self._shows_standing = bool(standing)
        if standing:
            text.append(f"  ({standing})", style="bold")
        notice_length = len(text.plain)
        if self._cell_text and not self._is_low:
            text.append(f"  (cursor: {self._cell_text})", style="not bold dim")
        for move in others:
            text.append("  ")
            label = f"{move.text} (type {move.id})" if move.text not in ("", move.id) else move.id
            button = Text(f" {move.id if self._is_low else label} ", style="reverse")
            button.apply_meta({"@click": f"screen.say('{move.id}')"})
            text.append_text(button)
        self.query_one("#message", TextPane).show(self._cut(text, notice_length))

    @property
    def _waits(self) -> bool:
        """Whether the first match waits for the user's opponent."""
        model = self.model
        is_new = model.description is not None and model.match is None
        return is_new and model.my_seat is not None and None in model.seats

    def _cut(self, text: Text, length: int) -> Text:
        """The message, whose first `length` characters are cut where it needs more rows than there
        are; the tab Chat has it whole.
        """
        columns, rows = max(20, self.size.width), self._message_rows
        space = rows * columns - (rows - 1) * WRAP_COLUMNS
        if visible_width(text.plain) <= space:
            return text
        cut = "…" if self._is_low else CUT
        head = text[:length]
        head.truncate(max(10, space - visible_width(text.plain[length:]) - len(cut)))
        return head.append(cut, style="not bold dim").append_text(text[length:])

    def _arrange(self) -> None:
        """Puts the panel beside the board, below it, or in its place, as there is space."""
        columns, rows = self.size
        note = "" if self._is_low else self._note_text()
        note_box = self.query_one("#note", TextPane)
        note_box.display = bool(note)
        note_box.show(self._coloured(note, ("(", ")")))
        self._draw_board()
        bars = 0 if self._is_low else 6 if self._has_large_clocks else 2
        free = rows - self._rows_around(note) - bars
        main, left, panel = (self.query_one(each) for each in ("#main", "#left", "#panel"))
        width, height = self._board.size_for(columns - PANEL_COLUMNS - 3, free)
        is_beside = columns - width - 3 >= PANEL_COLUMNS and columns >= 2 * PANEL_COLUMNS
        if not is_beside:
            width, height = self._board.size_for(columns, free)
        is_below = not is_beside and free - height - 1 >= PANEL_ROWS
        self._can_hide = not is_beside and not is_below
        main.set_class(not is_beside, "stacked")
        left.display = not self._can_hide or not self._shows_panel
        panel.display = not self._can_hide or self._shows_panel
        least = min(self._name_columns(), columns - PANEL_COLUMNS - 3)
        left.styles.width = max(width, least) + 1 if is_beside else "100%"
        left.styles.height = height + bars if is_below else "100%"
        self._board.styles.height = height
        spare = free - height - (1 + PANEL_ROWS if is_below else 0)
        rows_of_message = 1 + max(0, min(MAX_MESSAGE_ROWS - 1, spare)) * (not self._is_low)
        if rows_of_message != self._message_rows:
            self._message_rows = rows_of_message
            self._draw_message()

    def _name_columns(self) -> int:
        """The width that the names above and below the board need."""
        bars = [
            self._with_large_clock(seat) if self._has_large_clocks else self._player(seat, False)
            for seat in (0, 1)
        ]
        return max(
            NAME_COLUMNS, *(visible_width(line.plain) for bar in bars for line in bar.split())
        )

    def _rows_around(self, note: str) -> int:
        """The rows above and below the board and the panel."""
        shown = ("#title", "#banner", "#keys", "#offers", "#message", "#row")
        width = max(20, self.size.width)
        bars = [self._offer_text(offer).plain for offer in offers(self.model)[:MAX_OFFERS]]
        lines = {"#offers": sum(-(-visible_width(bar) // width) for bar in bars)}
        around = sum(lines.get(each, 1) for each in shown if self.query_one(each).display)
        return around + len(wrap(note, width).split("\n")) * bool(note)

    def _note_text(self) -> str:
        """Pieces in hand, stores and edges, in one line."""
        model = self.model
        board, view = words.board_of(model), model.view
        if board is None or view is None:
            return ""
        return "  ".join(notes(board, view, self._is_ascii))

    def _draw_panel(self) -> None:
        if TABS[self._tab] == "Chat":
            self._unread = 0
        tabs = Text()
        for index, name in enumerate(TABS):
            label = f"{name} {self._unread}" if name == "Chat" and self._unread else name
            tab = Text(label, style="reverse bold" if index == self._tab else "dim")
            tab.apply_meta({"@click": f"screen.show_tab({index})"})
            tabs.append_text(tab).append(" ")
        self.query_one("#tabs", TextPane).show(tabs)
        text = self.query_one("#text", TextPane)
        scroll = self.query_one("#scroll", Tail)
        text.show(self._panel_text(max(20, scroll.size.width - 1)))
        scroll.keep()

    def _panel_text(self, width: int) -> Text:
        model = self.model
        match TABS[self._tab]:
            case "Moves":
                moves = model.match.moves if model.match is not None else ()
                lines: Sequence[str] = moves_lines(moves, width) or self._before_moves()
            case "Thinking":
                lines = thinking_lines(model, self._is_ascii)
            case "Chat":
                text = Text()
                for index, (line, is_notice) in enumerate(self._log):
                    text.append(("\n" if index else "") + line, style="dim" if is_notice else "")
                return text
            case _:
                lines = people_lines(model)
        return Text("\n".join(map(words.quoted, lines)))

    def _before_moves(self) -> list[str]:
        """What stands in place of the moves before the first one."""
        model = self.model
        if model.description is None or model.match is not None or None not in model.seats:
            place = self._visit.place_text
            return ["No move yet.", *(["", place] if place else [])]
        if model.my_seat is None:
            return ["The match has not begun."]
        advice = self._invitation.advice
        begins = ["The match begins when your", "opponent opens the link."]
        return [*begins, *(["", advice] if advice else [])]

    def _draw_thinking(self) -> None:
        """Draws the AI's thinking after the least time between two drawings."""
        self._thinking_timer = None
        if TABS[self._tab] == "Thinking":
            self._draw_panel()

    def _tick(self) -> None:
        """Draws clocks and countdowns."""
        match = self.model.match
        has_clock = match is not None and match.clock is not None and match.over is None
        if has_clock:
            self._draw_players()
        if self._shows_standing:
            self._draw_message()
        if any(each is not None for each in self.model.gone_ms):
            self._draw_offers()

    # --- what the user does

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Executes the line."""
        event.stop()
        line = event.value.strip()
        event.input.value = ""
        self.execute(line)

    def execute(self, line: str) -> None:
        """Executes a line: a word of this screen, or what line mode understands."""
        match parse_line(line, self.model, KEYS_OF_WORDS):
            case PressKey(key=key):
                self.action_key(key)
            case RunCommand(command=CommandName.HELP, argument=""):
                self.action_menu()
            case RunCommand(command=CommandName.QUIT):
                self.action_leave()
            case RunCommand(command=CommandName.BOARD):
                self._shows_panel = False
                self._draw()
            case Unclear(reason=reason, instead=instead):
                self.log_line(f"error: {reason}", is_notice=True)
                if instead:
                    self._give_back(instead)
            case _:
                self._notice = ""
                self._lines.put(line)

    async def action_send(self) -> None:
        """Sends the input line, as Enter does."""
        await self.query_one("#entry", Entry).action_submit()

    def action_give_keys(self) -> None:
        """Gives the letters to the board, as Esc does."""
        self._focus_board()

    def action_say(self, line: str) -> None:
        """Executes a word that was clicked."""
        self.execute(line)

    def action_answer(self, number: int) -> None:
        """Gives the answer with this number to the first offer."""
        shown = _others(offers(self.model))
        if shown and number < len(shown[0].answers):
            self.execute(shown[0].answers[number][0])

    def action_withdraw(self) -> None:
        """Withdraws what the user offers, by another key than the one that offers."""
        own = [offer for offer in offers(self.model) if offer.is_own and offer.answers]
        if own:
            self.execute(own[0].answers[0][0])

    def action_accept(self, word: str) -> None:
        """Accepts or declines what the other side offers, the first of several."""
        shown = _others(offers(self.model))
        lines = [line for offer in shown for line, label in offer.answers if label == word]
        if lines:
            self.execute(lines[0])

    def on_entry_pressed(self, event: Entry.Pressed) -> None:
        """Does on the board what a key on the empty line stands for."""
        match event.key:
            case "pick":
                self.action_pick()
            case "help":
                self.action_menu()
            case "leave":
                self.action_leave()
            case "drop":
                if not self._board.drop():
                    self._focus_board()
            case "keys":
                self._focus_board()
            case direction:
                self._board.walk(*DIRECTIONS[direction])
                self._say_cell()

    def action_walk(self, direction: str) -> None:
        """Moves the cursor on the board."""
        self._board.walk(*DIRECTIONS[direction])
        self._say_cell()

    def _say_cell(self) -> None:
        """Says what is on the cell under the cursor."""
        model, cell = self.model, self._board.cursor
        board = words.board_of(model)
        if board is None or model.view is None or cell is None:
            return
        kind = board.kinds.get(model.view.pieces.get(cell, ""))
        self._cell_text = f"{cell}: {kind.name}" if kind is not None else cell
        if self._board.selection:
            self._cell_text += f", picked {' '.join(self._board.selection)}"
            self._cell_text += ": now a marked cell" if self._board.next_cells else ""
        self._draw_message()

    def action_pick(self) -> None:
        """Picks the cell under the cursor; says so if no move begins there. While the user waits
        for an opponent, the link is shown again.
        """
        cell, model = self._board.cursor, self.model
        if cell is not None and model.match is not None and not self._board.pick():
            reason = f"{NO_MOVE} {cell}."
            self._notice = reason if model.moves else no_moves_reason(model)
        elif self._waits or self._notice.startswith(("error:", NO_MOVE)):
            self._notice = ""
            self._draw_message()
        self._say_cell()

    def on_board_pane_clicked(self, event: BoardPane.Clicked) -> None:
        """Picks the cell that was clicked."""
        event.stop()
        self.action_pick()

    def action_drop(self) -> None:
        """Drops what is picked, or gives the focus back to the input line."""
        if not self._board.drop():
            self.query_one("#entry").focus()

    def _focus_board(self) -> None:
        self._board.focus()

    def on_descendant_focus(self) -> None:
        """Says which keys there are now."""
        self._draw_keys()

    def on_board_pane_finished(self, event: BoardPane.Finished) -> None:
        """Plays the move that was picked; asks if there are several."""
        if event.says:
            self._log_reading(event.says)
        ask_for_one(self.app, event.moves, self._play)

    def _play(self, move: MoveView) -> None:
        self._notice = ""
        self.run_worker(self._send_move(move, self.model.ply))

    async def _send_move(self, move: MoveView, ply: int) -> None:
        connection = self._visit.connection
        command = Move(id=connection.new_id(), ply=ply, move=move.id)
        try:
            await connection.command(CommandFrame(self._visit.room, command))
        except Refused as refused:
            self.log_line(f"error: {refused.message}", is_notice=True)
        except PlyroomError:
            return  # line mode reports it

    def action_key(self, key: str) -> None:
        """Does what a key of the board stands for."""
        match key:
            case "f":
                self._is_flipped = not self._is_flipped
                self._draw()
            case "b":
                self._has_bell = not self._has_bell
                state = "on" if self._has_bell else "off"
                self.log_line(f"The bell is {state} when it is your turn.", is_notice=True)
            case "c":
                self.run_worker(self._show_link(), exclusive=True, group="link")
            case "t":
                self.action_show_tab((self._tab + 1) % len(TABS))
            case "g":
                self.run_worker(self._show_search(), exclusive=True, group="glass")
            case "?":
                self.action_menu()
            case "q":
                self.action_leave()

    async def _show_search(self) -> None:
        """Shows the log of a search of the position, where the viewer may see searches."""
        model, requests = self.model, self._visit.requests
        room, match = model.description, model.match
        if room is None or match is None or requests is None:
            self.log_line("error: there is no position to search", is_notice=True)
            return
        if not model.permits("see_thinking"):
            refusal = "this room shows no searches during the match"
            self.log_line(f"error: {refusal}", is_notice=True)
            return
        self.log_line("Searching ...", is_notice=True)
        try:
            log = await requests.search_log(room.game, room.options, match.id, model.ply)
        except PlyroomError as error:
            self.log_line(f"error: {error}", is_notice=True)
            return
        self._notice = ""
        self._draw_message()
        heading = f"Alpha-beta, {GLASS_DEPTH} plies deep, from this position:"
        self.app.push_screen(TextSheet(heading, Text(log, no_wrap=True)))

    def action_show_tab(self, index: int) -> None:
        """Shows a tab; on a small screen instead of the board, which follows the last one."""
        if self._can_hide:
            if not self._shows_panel:
                self._shows_panel, index = True, self._tab
            elif index == 0:
                self._shows_panel = False
        self._tab = index
        if self._can_hide:
            self._draw()
        else:
            self._draw_panel()
        self.query_one("#scroll", Tail).follow(TABS[index] in ("Moves", "Chat"))

    def action_scroll_panel(self, pages: int) -> None:
        """Scrolls the panel."""
        self.query_one("#scroll", Tail).turn(pages)

    def on_click(self, event: Click) -> None:
        """Gives the focus back to the input line."""
        self.query_one("#entry").focus()

    def on_board_pane_turned(self, event: BoardPane.Turned) -> None:
        """Scrolls a board that does not fit, and otherwise the panel."""
        if not self._board.scroll_rows(event.steps):
            self.query_one("#scroll", Tail).turn(event.steps)

    def action_menu(self) -> None:
        """Shows what may be done now."""
        how = " Moves: type them, or arrows and Space." if self.model.moves else ""
        heading = f"What you can do now.{how}"
        self.app.push_screen(Menu(heading, menu_entries(self.model)), self._choose)

    def _choose(self, word: str | None) -> None:
        """Executes a word of the menu, or puts it into the line if it needs more."""
        if word is None:
            return
        entry = self.query_one("#entry", Input)
        if word in NEED_MORE:
            entry.value = f"{word} "
            entry.focus()
            entry.action_end()
        else:
            self.execute(word)

    def action_leave(self) -> None:
        """Leaves the room; asks first while the user's match runs."""
        model = self.model
        if model.running and model.my_seat is not None:
            question = "Leave the room? The match stays open, and you may come back."
            if is_permitted(CommandName.RESIGN, model):
                question += " To end it, resign first."
            self.app.push_screen(
                Question(question, interrupt_means_yes=True),
                lambda is_yes: self.leave() if is_yes else None,
            )
        else:
            self.leave()

    def leave(self) -> None:
        """Leaves the room and what is above it, such as a question."""
        close_above(self)
        self.dismiss(None)

    async def _show_link(self) -> None:
        """Shows the room's link and its QR code, and gives the mouse back for copying."""
        import segno

        requests = self._visit.requests
        if requests is not None and not self._has_asked:
            self._invitation = await requests.invitation(self.model.room)
            self._has_asked = True
        link, advice = self._invitation.link, self._invitation.advice
        body = Text(f"{link}\n\n")
        if advice:
            body.append(f"{advice}\n")
        elif not self._is_ascii:
            modules = [list(row) for row in segno.make(link, error="l").matrix_iter(border=2)]
            for line in half_blocks(modules):
                body.append(
                    f"{line}\n", style="" if not self._board.colours else "#ffffff on #000000"
                )
        sheet = LinkSheet("The link of this room", body, link, self._on_mouse(False))

        def take_back(_: None) -> None:
            self._on_mouse(True)

        self.app.push_screen(sheet, take_back)

    # --- completion

    def _completions(self) -> list[str]:
        """What may be typed: moves, words, commands of the bot."""
        model = self.model
        allowed = [name.value for _, name, _ in HELP if is_permitted(name, model)]
        return [
            *sorted_ids(model.moves),
            *sorted({move.text for move in model.moves if move.text}),
            *allowed,
            *OWN_WORDS,
            *[f"/{name}" for name in model.chat_commands],
        ]


def _as_sentence(text: str) -> str:
    """A message with a capital at its beginning, unless it begins with a move or a number."""
    word = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if word.isalpha() and len(word) > 1 else text


def _letters(answer: Answer) -> dict[str, str]:
    """The signs on the cells of an answer's arrows: the numbers that its text has for them, else
    letters.
    """
    # A server of an earlier version writes "1. d4".
    has_numbers = all(
        f"{n}) " in answer.text or f"{n}. " in answer.text
        for n in range(1, min(len(answer.arrows), 9) + 1)
    )
    first = "1" if has_numbers and len(answer.arrows) < 10 else "A"
    return {
        cell: chr(ord(first) + index)
        for index, arrow in reversed(list(enumerate(answer.arrows[:26])))
        for cell in arrow.cells
    }


def is_own_turn(model: Model) -> bool:
    """Whether the viewer is to move, and not for both sides."""
    return bool(model.moves) and model.my_seat is not None and not model.is_one_screen


def _side_after_swap(model: Model) -> str:
    """Which side the viewer plays, until their first move in a later match of the room."""
    match, seat = model.match, model.my_seat
    if match is None or seat is None or model.is_one_screen or match.number < 2:
        return ""
    if any(words.seat_of(played, ply) == seat for ply, played in enumerate(match.moves)):
        return ""
    return f"  You play {words.side_name(words.board_of(model), seat)} in this match."


def _fitting_prompt(prompt: str, plain: str, columns: int) -> str:
    """A prompt in these columns: without what stands in brackets, then without its example, and cut
    if it still does not fit.
    """
    shorter = [text.partition(" (")[0] for text in (prompt, plain)]
    fitting = [text for text in (prompt, *shorter) if visible_width(text) <= columns]
    if fitting:
        return fitting[0]
    text = Text(shorter[-1])
    text.truncate(max(1, columns), overflow="ellipsis")
    return text.plain


def _count_offers(model: Model) -> int:
    """How many offers and requests wait for an answer."""
    return len(model.offers) + len(model.takebacks) + (model.next_offer is not None)


def _others(shown: Sequence[Offer]) -> list[Offer]:
    """The offers but for the user's own."""
    return [offer for offer in shown if not offer.is_own]


def menu_entries(model: Model) -> list[MenuEntry]:
    """What the viewer may do now: words, and the keys of the screen in brackets."""
    words_now = [(name.value, text) for _, name, text in HELP if is_permitted(name, model)]
    shown = [MenuEntry(word, text, word) for word, text in words_now]
    shown = [entry for entry in shown if entry.word not in ("help", "board")]
    own = [MenuEntry(f"{word} ({key})", text, word) for key, word, text in KEYS]
    own = [entry for entry in own if entry.word in OWN_WORDS]
    if model.my_seat is None:
        own = [entry for entry in own if entry.word != "bell"]
    say = [MenuEntry("say", "write to the room: say hello, or /hello; but /resign resigns", "say")]
    ask = [MenuEntry("/help", "what the room's bot answers, for you alone: /why, /hint", "/help")]
    return [*say, *(ask if model.chat_commands else []), *shown, *own]
