"""Plain line mode: the user types lines, and the room is printed as lines.

It works in a pipe, over ssh, on a dumb terminal and with a screen reader. On a terminal it reads
lines at any time. Elsewhere (a pipe, a file) it reads a line only when it is this player's turn, so
that a list of moves can be piped in, and it ends with the match.
"""

import asyncio
from contextlib import aclosing
from typing import Protocol, assert_never

import msgspec

from client.address import Address
from client.connection import Command, Connection
from client.errors import Refused
from client.messages import LoggedEvent, RoomMessage
from client.model import Model, apply
from client.terminal import words
from client.terminal.board import board_text, pieces_text
from client.terminal.commands import (
    CommandName,
    PlayMove,
    RunCommand,
    SendChat,
    TryMove,
    Unclear,
    help_text,
    moves_hint,
    parse_line,
)
from client.terminal.output import Output
from engine.view import BoardView, Grid
from server.protocol.messages import (
    Abort,
    Accept,
    Chat,
    Claim,
    Decline,
    Declined,
    Finished,
    Joined,
    Move,
    Moved,
    OfferDraw,
    Offered,
    Played,
    Presence,
    Rematch,
    Resign,
    Said,
    SeatLeft,
    SeatTaken,
    Sit,
    Snapshot,
    Started,
    Thinking,
    Turn,
    View,
)

#: The least time between two reports of a running search, in seconds.
THINKING_INTERVAL_S = 3.0

#: The most lines of earlier chat that are printed at the beginning.
CHAT_SHOWN = 5


class InputEnded(Exception):
    """The input ended before the match was over."""


class LineSource(Protocol):
    """A source of typed lines."""

    async def next(self) -> str | None:
        """Returns the next line; None at the end of the input."""


class LineMode:
    """Shows one room on a terminal and executes the user's lines.

    With `sit` the user takes a free seat. `brief` leaves the boards out. `invite` prints how to
    invite an opponent.
    """

    def __init__(
        self,
        connection: Connection,
        address: Address,
        room: str,
        lines: LineSource,
        output: Output,
        *,
        sit: bool = False,
        brief: bool = False,
        invite: bool = False,
    ) -> None:
        self._connection = connection
        self._address = address
        self._lines = lines
        self._output = output
        self._sit = sit
        self._brief = brief
        self._invite = invite
        self._model = Model(room=room, me=connection.identity)
        self._changed = asyncio.Event()
        self._is_introduced = False
        #: The v of this player's `sit`; a match that ended before it does not end the run.
        self._seated_at_v = 0
        #: Moves that wait for their notation: ply, seat and move.
        self._unprinted_moves: list[tuple[int, int, Played]] = []
        self._is_result_unprinted = False
        self._thinking_printed_at_s = 0.0
        self._thinking_state = ""

    @property
    def model(self) -> Model:
        """The current model of the room."""
        return self._model

    async def run(self) -> None:
        """Runs until the user quits or, without a terminal, until the match is over.

        Raises InputEnded when the input ends before that.
        """
        following = asyncio.create_task(self._follow(), name="plyroom room")
        reading = asyncio.create_task(self._read(), name="plyroom input")
        try:
            done, _ = await asyncio.wait({following, reading}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (following, reading):
                task.cancel()
            await asyncio.wait({following, reading})

    # --- output

    async def _follow(self) -> None:
        async with aclosing(self._connection.follow(self._model.room)) as messages:
            async for message in messages:
                before = self._model
                self._model = apply(before, message)
                await self._show(before, message)
                self._changed.set()
                if self._is_over and not self._output.interactive:
                    return

    @property
    def _is_over(self) -> bool:
        """Whether the match has ended and its last position is printed."""
        match = self._model.match
        has_view = self._model.view is not None or not self._sends_views
        is_printed = not self._unprinted_moves and not self._is_result_unprinted
        return (
            match is not None
            and match.over is not None
            and has_view
            and is_printed
            and self._model.v >= self._seated_at_v
        )

    @property
    def _sends_views(self) -> bool:
        """Whether the server sends views of the positions in this room."""
        return self._board is not None and self._model.frozen is None

    async def _show(self, before: Model, message: RoomMessage) -> None:
        if not isinstance(message, LoggedEvent) or not isinstance(message.event, Moved | Finished):
            self._print_moves(message if isinstance(message, View) else None)
        match message:
            case Joined():
                if message.frozen is not None and before.frozen is None:
                    self._output.report(words.frozen_text(message.frozen))
            case Snapshot():
                if self._is_introduced:
                    self._output.report("The room is up to date again.")
                else:
                    await self._introduce()
            case LoggedEvent():
                self._show_event(before, message)
            case View():
                self._show_view(before, message)
            case Turn():
                if not _is_repeat(before.turn, message):
                    self._prompt_for_move()
            case Thinking():
                self._show_thinking(message)
            case Presence():
                self._show_presence(before, message)
            case _:
                assert_never(message)

    async def _introduce(self) -> None:
        """Prints the room and its players, and takes a free seat if the user wants one."""
        self._is_introduced = True
        model = self._model
        self._output.report(
            f"{words.room_title(model)}. Room {model.room}: {self._address.room_url(model.room)}"
        )
        players = [
            words.player_text(self._board, seat, occupant)
            for seat, occupant in enumerate(model.seats)
        ]
        self._output.report(f"{', '.join(players)}")
        for line in model.chat[-CHAT_SHOWN:]:
            self._output.print(f"<{line.name}> {line.text}")
        if self._sit:
            await self._take_seat()
        if self._invite and self._model.match is None:
            self._output.report("Send the link to your opponent; the match begins when they join.")
        if model.match is not None and model.match.over is not None:
            self._output.print(words.result_text(self._board, model.match.over))
            if not self._sends_views:
                self._prompt_after_match()

    async def _take_seat(self) -> None:
        model = self._model
        if model.my_seat is not None:
            side = words.side_name(self._board, model.my_seat)
            self._output.report(
                f"You hold a seat here: {side}. (To play as another person, use --as NAME.)"
            )
            return
        for seat, occupant in enumerate(model.seats):
            if (
                occupant is None
                and (v := await self._send(Sit(id=self._new_id(), room=model.room, seat=seat)))
                is not None
            ):
                self._seated_at_v = v
                return
        self._output.report("Both seats are taken: you are watching.")

    def _show_event(self, before: Model, message: LoggedEvent) -> None:
        board, model = self._board, self._model
        match message.event:
            case Moved(ply=ply, seat=seat):
                if model.match is not None and len(model.match.moves) > ply:
                    self._unprinted_moves.append((ply, seat, model.match.moves[ply]))
                    if not self._sends_views:
                        self._print_moves()
            case Finished():
                self._is_result_unprinted = True
                if not (self._unprinted_moves and self._sends_views):
                    self._print_moves()
                if not self._sends_views:
                    self._prompt_after_match()
            case Started(number=number, seats=seats):
                players = " against ".join(
                    f"{occupant.name} ({words.side_name(board, seat)})"
                    for seat, occupant in enumerate(seats)
                )
                self._output.print(f"Match {number}: {players}")
            case SeatTaken(seat=seat, occupant=occupant):
                self._output.report(
                    f"{occupant.name} takes a seat: {words.side_name(board, seat)}."
                )
            case SeatLeft(seat=seat):
                former = before.seats[seat]
                name = former.name if former else "Somebody"
                self._output.report(f"{name} leaves the seat {words.side_name(board, seat)}.")
            case Offered(seat=seat, what="draw" | "rematch" as what):
                offer = "a draw" if what == "draw" else "a rematch"
                advice = "" if seat == model.my_seat else " Type accept or decline."
                self._output.report(f"{self._player_name(seat)} offered {offer}.{advice}")
            case Declined(seat=seat, what=what):
                self._output.report(f"{self._player_name(seat)} declined the {what}.")
            case Said(name=name, text=text, to=to):
                self._output.print(
                    f"<{name}> {text}" + (" (to spectators)" if to == "spectators" else "")
                )
            case _:
                pass

    def _print_moves(self, view: View | None = None) -> None:
        """Prints the moves that waited for the view with their notation, then the result."""
        for ply, seat, played in self._unprinted_moves:
            after = view.view if view is not None and view.ply == ply + 1 else None
            self._output.print(words.move_line(self._board, ply, seat, played, after))
        self._unprinted_moves.clear()
        match = self._model.match
        if self._is_result_unprinted and match is not None and match.over is not None:
            self._output.print(words.result_text(self._board, match.over))
        self._is_result_unprinted = False

    def _show_view(self, before: Model, message: View) -> None:
        """Prints the board; for a player only at the start, at their turns and at the end."""
        if self._model.view is not message.view or _is_repeat(before.latest_view, message):
            return
        my_seat = self._model.my_seat
        if not self._brief and (
            my_seat is None or message.view.turn in (None, my_seat) or message.ply == 0
        ):
            self._output.print(self._board_text())
        if self._is_over:
            self._prompt_after_match()

    def _show_thinking(self, thinking: Thinking) -> None:
        """Prints the AI's search: waiting for an engine, compiling, progress and final result."""
        now_s = asyncio.get_running_loop().time()
        is_new_state = thinking.state != self._thinking_state
        is_done = thinking.state == "done"
        is_due = now_s - self._thinking_printed_at_s >= THINKING_INTERVAL_S and thinking.depth > 0
        if is_new_state and thinking.state in ("searching", "queued"):
            self._thinking_printed_at_s = now_s
            is_due = False
        self._thinking_state = thinking.state
        if (
            (is_new_state and thinking.state in ("warming", "absent"))
            or (is_done and thinking.depth > 0)
            or is_due
        ):
            self._thinking_printed_at_s = now_s
            self._output.report(f"  {words.thinking_text(self._thinker(thinking), thinking)}")

    def _show_presence(self, before: Model, presence: Presence) -> None:
        seats = zip(before.present, presence.seats, strict=False)
        for seat, (was_present, is_present) in enumerate(seats):
            if (
                was_present != is_present
                and seat != self._model.my_seat
                and self._model.seats[seat] is not None
            ):
                change = "is back" if is_present else "has lost the connection or left"
                self._output.report(f"{self._player_name(seat)} {change}.")

    def _prompt_for_move(self) -> None:
        if self._model.moves and self._model.view is not None:
            if self._model.claim is not None:
                self._output.report(f"You may claim a draw ({self._model.claim}): type claim.")
            self._output.prompt(
                "Your move (or help)" if self._output.interactive else self._model.view.text
            )

    def _prompt_after_match(self) -> None:
        if self._output.interactive:
            self._output.prompt(
                "rematch or quit"
                if self._model.my_seat is not None
                else "quit, or wait for another match"
            )

    # --- input

    async def _read(self) -> None:
        while True:
            if not self._output.interactive:
                await self._wait_for_turn()
            line = await self._lines.next()
            self._output.clear_prompt()
            if line is None:
                if self._output.interactive:
                    return
                raise InputEnded
            if await self._execute(line):
                return

    async def _wait_for_turn(self) -> None:
        while not self._model.moves or self._model.view is None:
            self._changed.clear()
            await self._changed.wait()

    async def _wait_for_event(self, v: int | None) -> None:
        """Waits until the model has the event `v`; returns at once for None."""
        while v is not None and self._model.v < v:
            self._changed.clear()
            await self._changed.wait()

    async def _execute(self, line: str) -> bool:
        """Executes a line; returns True when the user quits."""
        match parse_line(line, self._model):
            case None:
                self._prompt_for_move()
            case PlayMove(move=move):
                new_id = self._new_id()
                await self._command(
                    Move(id=new_id, room=self._model.room, ply=self._model.ply, move=move.id)
                )
            case TryMove(text=text):
                await self._try_move(text)
            case SendChat(text=text):
                await self._command(Chat(id=self._new_id(), room=self._model.room, text=text))
                self._prompt_for_move()
            case Unclear(reason=reason):
                self._output.report(f"error: {reason}")
                self._prompt_for_move()
            case RunCommand(command=CommandName.QUIT):
                return True
            case RunCommand(command=name, argument=argument):
                await self._run_command(name, argument)
        return False

    async def _try_move(self, text: str) -> None:
        """Lets the server parse a move; if it refuses, the user may have meant a command."""
        try:
            move = Move(id=self._new_id(), room=self._model.room, ply=self._model.ply, move=text)
            await self._wait_for_event((await self._connection.command(move)).v)
        except Refused as refused:
            self._output.report(f"error: {refused.message}. {moves_hint(self._model)}")
            self._prompt_for_move()

    async def _run_command(self, name: CommandName, argument: str) -> None:
        room = self._model.room
        match name:
            case CommandName.RESIGN:
                await self._command(Resign(id=self._new_id(), room=room))
            case CommandName.ABORT:
                await self._command(Abort(id=self._new_id(), room=room))
            case CommandName.CLAIM:
                await self._command(Claim(id=self._new_id(), room=room))
            case CommandName.DRAW:
                await self._command(OfferDraw(id=self._new_id(), room=room))
            case CommandName.ACCEPT:
                await self._command(Accept(id=self._new_id(), room=room))
            case CommandName.REMATCH:
                await self._command(Rematch(id=self._new_id(), room=room))
            case CommandName.DECLINE:
                await self._command(Decline(id=self._new_id(), room=room))
            case _:
                self._output.print(self._query_text(name, argument))
                self._prompt_for_move()

    def _query_text(self, name: CommandName, argument: str) -> str:
        """The output of a command that only shows a part of the room."""
        model, board = self._model, self._board
        match name:
            case CommandName.BOARD:
                return self._board_text()
            case CommandName.PIECES if board is not None and model.view is not None:
                return pieces_text(board, model.view, argument)
            case CommandName.MOVES:
                return (
                    "Moves: " + ", ".join(move.id for move in model.moves)
                    if model.moves
                    else "It is not your turn."
                )
            case CommandName.LAST if model.match is not None and model.ply:
                seat = words.seat_of_ply(model, model.ply - 1)
                return words.move_line(
                    board, model.ply - 1, seat, model.match.moves[-1], model.view
                )
            case CommandName.LAST:
                return "No move yet."
            case CommandName.THINKING if model.thinking is not None and model.thinking.moves:
                return f"{self._thinker(model.thinking)}: {words.scores_text(model.thinking)}"
            case CommandName.THINKING:
                return "The AI has reported no scores."
            case CommandName.HELP:
                return help_text(model)
            case _:
                return "There is no board yet."

    async def _command(self, command: Command) -> None:
        """Sends a command and waits until its events have arrived."""
        await self._wait_for_event(await self._send(command))

    async def _send(self, command: Command) -> int | None:
        """Sends a command and returns the v of its last event; prints a refusal, returns None."""
        try:
            return (await self._connection.command(command)).v
        except Refused as refused:
            self._output.report(f"error: {refused.message}")
            self._prompt_for_move()
            return None

    # --- helpers

    @property
    def _board(self) -> BoardView | None:
        return self._model.description.view if self._model.description is not None else None

    def _board_text(self) -> str:
        if self._board is None or self._model.view is None:
            return "There is no board yet."
        grid = self._board.board
        flip = isinstance(grid, Grid) and grid.flips and self._model.my_seat == 1
        return board_text(self._board, self._model.view, self._output.colour, flip)

    def _player_name(self, seat: int) -> str:
        occupant = self._model.seats[seat]
        return occupant.name if occupant is not None else words.side_name(self._board, seat)

    def _thinker(self, thinking: Thinking) -> str:
        side = words.side_name(self._board, thinking.seat)
        return f"{self._player_name(thinking.seat)} ({side})"

    def _new_id(self) -> str:
        return self._connection.new_id()


def _is_repeat(before: View | Turn | None, message: View | Turn) -> bool:
    """Whether a message repeats the earlier one, as after a reconnect."""
    return before is not None and msgspec.structs.replace(before, v=message.v) == message


async def print_messages(connection: Connection, room: str, output: Output) -> None:
    """Prints every message about a room as one line of JSON.

    It returns when the match is over; on a terminal it runs until it is cancelled.
    """
    model = Model(room=room, me=connection.identity)
    async with aclosing(connection.follow(room)) as messages:
        async for message in messages:
            model = apply(model, message)
            output.print(msgspec.json.encode(_wire_form(message)).decode())
            is_over = model.match is not None and model.match.over is not None
            if is_over and isinstance(message, View) and not output.interactive:
                return


def _wire_form(message: RoomMessage) -> object:
    """A message as an object that msgspec encodes as the server does."""
    if isinstance(message, LoggedEvent):
        event: dict[str, object] = msgspec.to_builtins(message.event)
        return {"t": "event", "room": message.room, "v": message.v, "at": message.at, **event}
    return message
