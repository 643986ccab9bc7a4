"""A match that was played, on the whole screen: steps, the graph of the chance, other moves."""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.events import Click, Key
from textual.timer import Timer
from textual.widgets import Input

from client.analyses import AnalysisReport
from client.api import Line, MatchRecord
from client.errors import PlyroomError
from client.program import program
from client.terminal import words
from client.terminal.analysis import LABEL_WIDTH, draw_graph, progress_text
from client.terminal.board import DrawnBoard
from client.terminal.colours import NO_COLOURS
from client.terminal.replay import Views, length_text, move_numbers, ply_lines, title_of
from client.terminal.wrapping import visible_width
from client.tui.board_pane import DIRECTIONS, BoardPane
from client.tui.entry import Entry
from client.tui.pages import KeyPage, Shortcut, TextPane, bindings
from client.tui.panels import move_rows
from client.tui.requests import GLASS_DEPTH, Requests
from client.tui.sheets import TextSheet, ask_for_one, keys_line
from engine.view import MoveView, PositionView
from server.commands import AiSeat, Create, MySeat

#: The least width of the panel beside the board.
PANEL_COLUMNS = 30
#: The time between two steps that the replay takes by itself, in seconds.
AUTOPLAY_S = 1.0
#: The level of the computer in a match that goes on from a position of one without a level.
LEVEL = 3


@dataclass(frozen=True, slots=True)
class Branch:
    """Other moves from a ply on, and how many of them are shown."""

    ply: int
    line: Line
    shown: int


class ReplayScreen(KeyPage):
    """Steps through a match; `create` opens a room that plays on from a position."""

    CSS = """
    #replay-main { height: 1fr; width: 100%; layout: horizontal; }
    #replay-left { height: 100%; padding: 0 1 0 0; }
    #replay-panel { height: 100%; width: 1fr; border-left: solid ansi_blue; padding: 0 0 0 1; }
    #replay-main.stacked { layout: vertical; }
    #replay-main.stacked #replay-left { width: 100%; padding: 0; }
    #replay-main.stacked #replay-panel { border-left: none; width: 100%; padding: 0; height: 1fr; }
    #replay-text { height: 100%; }
    #replay-message { max-height: 3; }
    ReplayScreen .entry { border: none; height: 1; padding: 0; background: ansi_default;
        display: none; }
    """
    HEADING = "The keys of a replay"
    KEYS = (
        Shortcut("right,n,space", "→ n Space", "the next move", "step(1)"),
        Shortcut("left,p", "← p", "the move before", "step(-1)"),
        Shortcut("up,home", "↑ Home", "the start", "go(0)"),
        Shortcut("down,end", "↓ End", "the end", "go(-1)"),
        Shortcut("", "12 Enter", "the position after a move: its number, as in 12 or 12...", ""),
        Shortcut("o", "o", "plays on by itself, or stops", "auto"),
        Shortcut(
            "a", "a", "analyses the match: graph of the chance, marks, better moves", "analyse"
        ),
        Shortcut("j", "j", "the next marked move (after an analysis)", "mark(1)"),
        Shortcut("k", "k", "the marked move before", "mark(-1)"),
        Shortcut("v", "v", "the better line on the board (after an analysis)", "better"),
        Shortcut("m", "m", "another move: type it, or arrows and Space", "type('move')"),
        Shortcut("escape", "Esc", "back to the match from other moves", "back"),
        Shortcut("y", "y", "plays on from this position against the computer", "play_on"),
        Shortcut("x", "x", "writes the match to a file", "type('file')"),
        Shortcut("f", "f", "turns the board", "flip"),
        Shortcut("g", "g", "a search of this position, step by step", "glass"),
    )
    BINDINGS = bindings(KEYS)

    def __init__(
        self,
        record: MatchRecord,
        views: Views,
        requests: Requests,
        colours: int,
        is_ascii: bool,
        ply: int,
        create: Callable[[Create], None] | None,
        report: AnalysisReport | None = None,
    ) -> None:
        super().__init__()
        self._record = record
        self._views = views
        self._requests = requests
        self._colours = colours
        self._is_ascii = is_ascii
        self.ply = ply
        self._create = create
        self.report = report
        self._branch: Branch | None = None
        self._board = BoardPane(colours, is_ascii)
        self._is_flipped = False
        self._number = ""
        self._message = ""
        #: The legal moves of a position: a ply of the match and other moves from there on.
        self._legal: tuple[MoveView, ...] = ()
        self._legal_at: tuple[int, tuple[str, ...]] = (-1, ())
        self._autoplay: Timer | None = None
        self._numbers = move_numbers(record)
        self._rows_for = 0
        self._rows: list[list[tuple[int, str]]] = []

    def compose(self) -> ComposeResult:
        yield from self.compose_head()
        with Container(id="replay-main"):
            with Vertical(id="replay-left"):
                yield self._board
            with Vertical(id="replay-panel"):
                yield TextPane(id="replay-text")
        yield TextPane(id="replay-message")
        yield Entry(id="replay-move", classes="entry", placeholder="Another move")
        yield Input(id="replay-file", classes="entry", placeholder="Name of a new file")
        yield TextPane(id="keys")

    def on_mount(self) -> None:
        """Shows the first position."""
        self._draw()

    def on_resize(self) -> None:
        """Arranges the screen anew."""
        self._draw()

    # --- what is shown

    @property
    def last(self) -> int:
        """The last ply of the match."""
        return len(self._record.moves)

    @property
    def view(self) -> PositionView | None:
        """The position that is shown."""
        if self._branch is not None:
            return self._branch.line.views[self._branch.shown]
        return self._views[self.ply] if self.ply < len(self._views) else None

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#keys"):
            return
        record = self._record
        title = Text(words.quoted("  ".join(title_of(record))))
        self.query_one("#title", TextPane).show(title, layout=False)
        self._arrange()
        # Its size is that of the panel: what it shows needs no new layout of the screen.
        self.query_one("#replay-text", TextPane).show(self._panel_text(), layout=False)
        number = f"To move {self._number} (Enter)  " if self._number else ""
        self.query_one("#replay-message", TextPane).show(
            Text(number + words.quoted(self._message or self._state_text()))
        )
        analysis = [("a analyse", "analyse")]
        if self.report is not None:
            analysis = [
                ("j", "mark(1)"),
                ("k marks", "mark(-1)"),
                ("v better", "better"),
            ]
        keys = keys_line(
            ("←", "step(-1)"), ("→ step", "step(1)"), *analysis, ("? help", "help"),
            ("q leave", "leave"), ("m other", "type('move')"), ("y play on", "play_on"),
            ("x export", "type('file')"),
        )  # fmt: skip
        if any(entry.display for entry in self.query(".entry")):
            keys = keys_line(("Enter: goes on", "send"), ("Esc: back", "back"))
        self.query_one("#keys", TextPane).show(keys, layout=False)

    @property
    def _flips(self) -> bool:
        return self._is_flipped

    def _position_text(self) -> str:
        """The position's own line of text; "" before it has arrived."""
        return "" if self.view is None else words.position_text(self._record.view, self.view)

    def _state_text(self) -> str:
        """The state of the position in words: of the match, or of the other moves."""
        if self._branch is not None:
            over = self._branch.line.over
            at_end = self._branch.shown == len(self._branch.line.moves)
            state = over if over is not None and at_end else self._position_text()
            return f"Other moves. {state}  (Esc: back to the match)"
        record = self._record
        result = "" if record.over is None else words.result_text(record.view, record.over)
        if result and self.ply == self.last:
            return result
        state = self._position_text()
        about = f"  (The match: {length_text(record)}. {result})" if self.ply == 0 else ""
        return state + about

    def _arrange(self) -> None:
        """Puts the panel beside the board, or below it."""
        columns, rows = self.size
        free = rows - 4 - self.query_one("#banner").display
        main, left = self.query_one("#replay-main"), self.query_one("#replay-left")
        legal = self._legal if self._legal_at == self._shown_line() else ()
        drawn_by = words.seats_by_move(self._record.moves[: self.ply])
        self._board.show(self._record.view, self.view, legal, self._flips, {}, drawn_by)
        width, height = self._board.size_for(columns - PANEL_COLUMNS - 3, free)
        is_beside = columns - width - 3 >= PANEL_COLUMNS and columns >= 2 * PANEL_COLUMNS
        if not is_beside:
            width, height = self._board.size_for(columns, max(5, free - 5))
        main.set_class(not is_beside, "stacked")
        left.styles.width = width + 1 if is_beside else "100%"
        left.styles.height = "100%" if is_beside else height
        self._board.styles.height = height
        self._panel_size = (
            (columns - width - 5, free) if is_beside else (columns - 1, max(1, free - height))
        )

    def _panel_text(self) -> Text:
        """The move, what the AI and the analysis say, the graph, and the moves around it."""
        width, height = self._panel_size
        text = Text()
        for line in self._about_ply():
            text.append(words.quoted(line) + "\n")
        if self.report is not None:
            text.append("\n")
            for line in self._graph(width):
                text.append(line + "\n", style="")
        used = (
            text.plain.count("\n")
            + 1
            + sum(len(line) // max(1, width) for line in text.plain.split("\n"))
        )
        text.append("\n")
        text.append_text(self._moves_around(width, max(2, height - used - 1)))
        return text

    def _about_ply(self) -> list[str]:
        """The lines of line mode about the position, without its board."""
        if self._branch is not None:
            branch = self._branch
            played = [
                f"{words.move_number(branch.ply + i, move)} {words.move_text(move)}"
                for i, move in enumerate(branch.line.moves)
            ]
            shown = " ".join(played[: branch.shown])
            rest = " ".join(played[branch.shown :])
            return [f"Other moves: {shown}" + (f" ({rest})" if rest else "")]
        found = ply_lines(self._record, self._views, self.ply, NO_COLOURS, self.report)
        return [line for line in found if not isinstance(line, DrawnBoard)]

    def _graph(self, width: int) -> list[str]:
        """The graph of the analysis, with a sign below the shown ply."""
        assert self.report is not None, "there is an analysis"
        graph = draw_graph(self._record, self.report.moves, width, not self._is_ascii)
        count = len(self.report.moves)
        columns = min(max(8, width - LABEL_WIDTH), count)
        col = min(columns - 1, self.ply * columns // max(1, count)) if columns else 0
        here = [f"{'':{LABEL_WIDTH}}{'':{col}}^"] if columns else []
        if not graph.signs:
            return [*graph.rows, *here]
        return [*graph.rows, graph.signs, *here, f"{'Marks':<{LABEL_WIDTH}}{graph.legend}"]

    def _moves_around(self, width: int, height: int) -> Text:
        """The moves, those around the shown one."""
        if self._rows_for != width:
            self._rows_for, self._rows = width, move_rows(self._record.moves, width)
        plies = [row[0][0] for row in self._rows]
        shown = self.ply - 1
        at = max((i for i, ply in enumerate(plies) if ply <= shown), default=0)
        first = max(0, min(at - height // 2, len(self._rows) - height))
        text = Text(no_wrap=True)
        for row in self._rows[first : first + height]:
            for ply, move in row:
                bare = move.rstrip(" ")
                text.append(bare, style="reverse" if ply == shown else "")
                text.append(move[len(bare) :])
            text.append("\n")
        return text

    def show_message(self, text: str) -> None:
        """Shows a sentence until the next step."""
        self._message = text
        self._draw()

    # --- steps

    def _go(self, ply: int) -> None:
        self._message = ""
        self.ply = max(0, min(self.last, ply))
        self._draw()

    def action_step(self, steps: int) -> None:
        """Steps in the match, or in the other moves."""
        branch = self._branch
        if branch is None:
            self._go(self.ply + steps)
            return
        shown = branch.shown + steps
        if shown < 1:
            self._branch = None
        elif shown <= len(branch.line.moves):
            self._branch = Branch(branch.ply, branch.line, shown)
        self._draw()

    def action_go(self, ply: int) -> None:
        """Shows the start (0) or the end (-1)."""
        self._branch = None
        self._go(self.last if ply < 0 else ply)

    def on_click(self, event: Click) -> None:
        """Shows the position at a click on a move or on the graph."""
        pane = self.query_one("#replay-text")
        offset = event.get_content_offset(pane)
        if offset is None:
            return
        # What a step draws knows no places, which would cost it more than it does now.
        line = pane.render_line(offset.y).text.rstrip()
        rows = [row for row in self._rows if "".join(move for _, move in row).rstrip() == line]
        if rows:
            is_second = len(rows[0]) > 1 and offset.x >= visible_width(rows[0][0][1])
            self.action_go(rows[0][is_second][0] + 1)
        elif self.report is not None and line[LABEL_WIDTH - 1 : LABEL_WIDTH] == "|":
            count = len(self.report.moves)
            columns = min(max(8, self._panel_size[0] - LABEL_WIDTH), count)
            col = max(0, min(columns - 1, offset.x - LABEL_WIDTH))
            self.action_go((col * count + columns - 1) // columns)

    def on_board_pane_turned(self, event: BoardPane.Turned) -> None:
        """Steps by the wheel."""
        self.action_step(event.steps)

    def on_key(self, event: Key) -> None:
        """Collects the number of a move."""
        if self.focused is not None and self.focused.has_class("entry"):
            return
        character = event.character or ""
        if character.isdecimal() or (self._number and character == "."):
            self._number = (self._number + character)[:8]
        elif self._number and event.key == "backspace":
            self._number = self._number[:-1]
        elif self._number and event.key == "enter":
            self._jump()
        else:
            return
        event.stop()
        self._draw()

    def _jump(self) -> None:
        """Shows the position after the move whose number was typed."""
        number, self._number = self._number, ""
        for ply, each in enumerate(self._numbers):
            if number in (each, each.rstrip(".")):
                self._branch = None
                self._go(ply)
                return
        self._message = f"There is no move {number}; the last one is {self._numbers[-1]}"

    def action_auto(self) -> None:
        """Plays on by itself, or stops."""
        if self._autoplay is not None:
            self._autoplay.stop()
            self._autoplay = None
            self._message = "Stopped."
        else:
            self._autoplay = self.set_interval(AUTOPLAY_S, self._play_next)
            self._message = "Playing on; o stops it."
        self._draw()

    def _play_next(self) -> None:
        if self.ply >= self.last and self._autoplay is not None:
            self._autoplay.stop()
            self._autoplay = None
        else:
            self.action_step(1)

    # --- analysis

    def action_analyse(self) -> None:
        """Requests the analysis of the match, and shows its progress."""
        if self.report is None:
            self.run_worker(self._analyse(), group="analysis", exclusive=True)

    async def _analyse(self) -> None:
        def show(report: AnalysisReport) -> None:
            self._message = progress_text(report)
            self._draw()

        self._message = "Waiting for the analysis ..."
        self._draw()
        try:
            self.report = await self._requests.analysis(self._record.match, show)
            self._message = self._summary_text()
        except PlyroomError as error:
            self._message = f"error: {error}"
        self._draw()

    def _summary_text(self) -> str:
        """The accuracy of both sides, and where the marks are."""
        assert self.report is not None, "the analysis is there"
        summary = self.report.summary
        found = [] if summary is None else list(enumerate(summary.accuracy))
        sides = [
            f"{words.side_name(self._record.view, seat)} {accuracy:g} %"
            for seat, accuracy in found
            if accuracy is not None
        ]
        has_marks = any(each.mark for each in self.report.moves)
        marks = "j goes to the first mark." if has_marks else "No move is marked."
        return f"Accuracy: {', '.join(sides)}. {marks}" if sides else marks

    def action_mark(self, direction: int) -> None:
        """Shows the position after the next or the previous marked move."""
        if self.report is None:
            self._message = "a analyses the match first."
            self._draw()
            return
        marked = [each.ply + 1 for each in self.report.moves if each.mark]
        later = [ply for ply in marked if (ply > self.ply if direction > 0 else ply < self.ply)]
        if later:
            self._branch = None
            self._go(later[0] if direction > 0 else later[-1])
        else:
            self._message = "No other marked move in this direction."
            self._draw()

    def action_better(self) -> None:
        """Shows the better line instead of the shown move."""
        before = max(0, self.ply - 1)
        found = [each for each in self.report.moves if each.ply == before] if self.report else []
        if not found or not found[0].line:
            self._message = "a analyses the match first." if self.report is None else "No line."
            self._draw()
            return
        self.run_worker(self._leave_match(before, moves_of_line(found[0].line), 1))

    # --- other moves

    def action_type(self, what: Literal["move", "file"]) -> None:
        """Opens the line for a move, whose arrow keys walk the board, or for the name of a file."""
        entry = self.query_one(f"#replay-{what}", Input)
        entry.value = "" if what == "move" else f"{self._record.match}.pgn"
        entry.display = True
        entry.focus()
        if what == "move":
            self.run_worker(self._fetch_legal(), group="legal", exclusive=True)
            self.show_message("Type another move, or arrows and Space. Esc goes back.")
        else:
            self.show_message("Type the name of a new file. Enter writes it, Esc goes back.")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Plays the move, or writes the file."""
        text = event.value.strip()
        self._close_entries()
        if text and event.input.id == "replay-file":
            self.run_worker(self._export(Path(text).expanduser()))
        elif text:
            self._play(text)

    async def action_send(self) -> None:
        """Sends the line of input, as Enter does."""
        for entry in self.query(Input):
            if entry.display:
                await entry.action_submit()

    def _close_entries(self) -> None:
        for entry in self.query(".entry"):
            entry.display = False
        self.set_focus(None)

    async def _fetch_legal(self) -> None:
        """Fetches the legal moves of the shown position, which may then be picked on the board."""
        shown = self._shown_line()
        if shown == self._legal_at:
            return
        try:
            line = await self._requests.line(self._record.match, *shown)
        except PlyroomError as error:
            self.show_message(f"error: {error}")
            return
        self._legal, self._legal_at = line.legal, shown
        self._draw()

    def on_entry_pressed(self, event: Entry.Pressed) -> None:
        """Does on the board what a key on the empty line stands for."""
        match event.key:
            case "pick":
                self._board.pick()
            case "help":
                self.action_help()
            case "leave":
                self.action_leave()
            case "drop" | "keys":
                if not self._board.drop():
                    self.action_back()
            case direction:
                self._board.walk(*DIRECTIONS[direction])

    def on_board_pane_clicked(self, event: BoardPane.Clicked) -> None:
        """Picks the cell that was clicked."""
        event.stop()
        self.run_worker(self._pick_clicked(), group="legal", exclusive=True)

    async def _pick_clicked(self) -> None:
        await self._fetch_legal()
        self._board.pick()

    def on_board_pane_finished(self, event: BoardPane.Finished) -> None:
        """Plays the move that was picked; asks if there are several."""
        ask_for_one(self.app, event.moves, lambda move: self._play(move.id))

    def _play(self, text: str) -> None:
        """Plays another move in the shown position."""
        self._close_entries()
        ply, moves = self._shown_line()
        self.run_worker(self._leave_match(ply, (*moves, text), len(moves) + 1))

    async def _leave_match(self, ply: int, moves: Sequence[str], shown: int) -> None:
        """Shows other moves from a ply on. The last one may be as people write it."""
        try:
            line = await self._requests.line(self._record.match, ply, tuple(moves))
        except PlyroomError as error:
            self._message = f"error: {error}"
        else:
            self._message = ""
            self.ply = ply
            self._branch = Branch(ply, line, shown)
        self._draw()

    def action_back(self) -> None:
        """Leaves the line of input, the number, or the other moves."""
        if any(entry.display for entry in self.query(".entry")):
            self._close_entries()
        elif self._number:
            self._number = ""
        else:
            self._branch = None
        self._message = ""
        self._draw()

    def action_play_on(self) -> None:
        """Opens a room that plays on from this position, with the user on the side to move."""
        if self._create is None:
            self._message = (
                f"To play on: {program()} play {self._record.game} --ply {self.ply}"
                f" --from {self._requests.address}/match/{self._record.match}"
            )
            self._draw()
            return
        self.run_worker(self._play_on(*self._shown_line()))

    def _shown_line(self) -> tuple[int, tuple[str, ...]]:
        """The position that is shown: a ply of the match, and the other moves from there on."""
        if (branch := self._branch) is None:
            return self.ply, ()
        return branch.ply, tuple(move.move for move in branch.line.moves[: branch.shown])

    async def _play_on(self, ply: int, moves: Sequence[str]) -> None:
        try:
            line = await self._requests.line(self._record.match, ply, tuple(moves))
        except PlyroomError as error:
            self._message = f"error: {error}"
            self._draw()
            return
        if line.over is not None:
            self._message = f"The match is over in this position: {line.over}"
            self._draw()
            return
        levels = [seat.level for seat in self._record.seats if seat.level]
        opponent = AiSeat(level=levels[0] if levels else LEVEL)
        is_second = line.views[-1].turn == 1
        seats = (opponent, MySeat()) if is_second else (MySeat(), opponent)
        assert self._create is not None, "checked before"
        self._create(
            Create(
                id=secrets.token_hex(8),
                game=self._record.game,
                options=self._record.options,
                visibility="unlisted",
                seats=seats,
                start=line.start,
            )
        )

    async def _export(self, path: Path) -> None:
        try:
            size = await self._requests.export(self._record.match, path)
            self._message = f"Wrote {size} bytes to {path}."
        except FileExistsError:
            self._message = f"error: there is a file {path} already"
        except (PlyroomError, OSError) as error:
            self._message = f"error: {error}"
        self._draw()

    # --- the rest

    def action_flip(self) -> None:
        """Turns the board."""
        self._is_flipped = not self._is_flipped
        self._draw()

    def action_glass(self) -> None:
        """Shows the log of a search of the position."""
        self.run_worker(self._show_search(), group="glass", exclusive=True)

    async def _show_search(self) -> None:
        record, (ply, moves) = self._record, self._shown_line()
        self._message = "Searching ..."
        self._draw()
        try:
            log = await self._requests.search_log(
                record.game, record.options, record.match, ply, moves
            )
        except PlyroomError as error:
            self._message = f"error: {error}"
            self._draw()
            return
        self._message = ""
        self._draw()
        heading = f"Alpha-beta, {GLASS_DEPTH} plies deep, from this position:"
        self.app.push_screen(TextSheet(heading, Text(log, no_wrap=True)))


def moves_of_line(line: str) -> tuple[str, ...]:
    """The moves of a line of an analysis, without their numbers: "4... Nf6 5. Bf4"."""
    return tuple(part for part in line.split() if not re.fullmatch(r"\d+\.+", part))
