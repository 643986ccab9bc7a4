"""Plain line mode: one line in, a few lines out.

It works in a pipe, over ssh, on a dumb terminal and with a screen reader. On a terminal, lines are
read at any time. Elsewhere (a pipe, a file) a line is read only when it is this player's turn, so
that a list of moves can be piped in, and the run ends with the match.
"""

import asyncio
from contextlib import aclosing
from typing import Protocol, assert_never

import msgspec

from client.address import Address
from client.connection import Command, Connection
from client.errors import Refused
from client.messages import Happened, RoomMessage
from client.model import Model, apply
from client.terminal import words
from client.terminal.board import board_text, pieces_text
from client.terminal.commands import (
    Do,
    Play,
    Say,
    Try,
    Unclear,
    Word,
    help_text,
    offer_text,
    read_line,
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

#: Seconds between two reports while an AI thinks.
THINKING_EVERY_S = 3.0

#: Lines of earlier chat to show at the beginning.
CHAT_SHOWN = 5


class InputEnded(Exception):
    """The input ended before the match was over."""


class LineSource(Protocol):
    """A source of typed lines."""

    async def next(self) -> str | None:
        """The next line; None when there are no more."""


class LineMode:
    """One room on a terminal.

    `run` follows it to the end of the match or of the input, or until the user quits.
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
        self._c = connection
        self._address = address
        self._lines = lines
        self._out = output
        self._sit = sit
        self._brief = brief
        self._invite = invite
        self._model = Model(room=room, me=connection.identity)
        self._changed = asyncio.Event()
        self._introduced = False
        self._seated_at_v = 0
        self._unprinted: list[tuple[int, int, Played]] = []
        self._result_due = False
        self._thinking_shown_s = 0.0
        self._thinking_state = ""

    @property
    def model(self) -> Model:
        """The room as currently known."""
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
        async with aclosing(self._c.follow(self._model.room)) as messages:
            async for message in messages:
                before = self._model
                self._model = apply(before, message)
                await self._show(before, message)
                self._changed.set()
                if self._is_over and not self._out.interactive:
                    return

    @property
    def _is_over(self) -> bool:
        """Whether the match has ended and its last position is printed."""
        match = self._model.match
        drawn = self._model.view is not None or not self._is_drawable
        printed = not self._unprinted and not self._result_due
        return (
            match is not None
            and match.over is not None
            and drawn
            and printed
            and self._model.v >= self._seated_at_v
        )

    @property
    def _is_drawable(self) -> bool:
        """Whether the server will send drawings of the positions."""
        return self._board is not None and self._model.frozen is None

    async def _show(self, before: Model, message: RoomMessage) -> None:
        if not isinstance(message, Happened) or not isinstance(message.event, Moved | Finished):
            self._print_moves(message if isinstance(message, View) else None)
        match message:
            case Joined():
                if message.frozen is not None and before.frozen is None:
                    self._out.report(f"This room can be read but not played ({message.frozen}).")
            case Snapshot():
                await self._introduce() if not self._introduced else self._out.report(
                    "Brought up to date."
                )
            case Happened():
                self._show_event(before, message)
            case View():
                self._show_view(before, message)
            case Turn():
                if not _is_repeat(before.turn, message):
                    self._ask()
            case Thinking():
                self._show_thinking(message)
            case Presence():
                self._show_presence(before, message)
            case _:
                assert_never(message)

    async def _introduce(self) -> None:
        """Prints the room and its players once, and takes a free seat if the user wants one."""
        self._introduced = True
        model = self._model
        self._out.report(
            f"{words.room_title(model)}. Room {model.room}: {self._address.room(model.room)}"
        )
        players = [
            words.player_text(self._board, seat, who) for seat, who in enumerate(model.seats)
        ]
        self._out.report(f"{', '.join(players)}")
        for line in model.chat[-CHAT_SHOWN:]:
            self._out.say(f"<{line.name}> {line.text}")
        if self._sit:
            await self._take_seat()
        if self._invite and self._model.match is None:
            self._out.report("Send the link to your opponent; the match begins when they join.")
        if model.match is not None and model.match.over is not None:
            self._out.say(words.result_text(self._board, model.match.over))
            if not self._is_drawable:
                self._ask_after_the_end()

    async def _take_seat(self) -> None:
        model = self._model
        if model.my_seat is not None:
            side = words.side_name(self._board, model.my_seat)
            self._out.report(
                f"You hold a seat here: {side}. (To play as another person, use --as NAME.)"
            )
            return
        for seat, occupant in enumerate(model.seats):
            if (
                occupant is None
                and (v := await self._send(Sit(id=self._new_id(), room=model.room, seat=seat)))
                is not None
            ):
                # the match that is over, if any, is not the one that this player joined
                self._seated_at_v = v
                return
        self._out.report("Both seats are taken: you watch.")

    def _show_event(self, before: Model, happened: Happened) -> None:
        board, model = self._board, self._model
        match happened.event:
            case Moved(ply=ply, seat=seat):
                if model.match is not None and len(model.match.moves) > ply:
                    self._unprinted.append((ply, seat, model.match.moves[ply]))
                    if not self._is_drawable:
                        self._print_moves()
            case Finished():
                self._result_due = True
                if not (self._unprinted and self._is_drawable):
                    self._print_moves()
                if not self._is_drawable:
                    self._ask_after_the_end()
            case Started(number=number, seats=seats):
                players = " against ".join(
                    f"{who.name} ({words.side_name(board, n)})" for n, who in enumerate(seats)
                )
                self._out.say(f"Match {number}: {players}")
            case SeatTaken(seat=seat, occupant=occupant):
                self._out.report(f"{occupant.name} takes a seat: {words.side_name(board, seat)}.")
            case SeatLeft(seat=seat):
                gone = before.seats[seat]
                name = gone.name if gone else "Somebody"
                self._out.report(f"{name} leaves the seat {words.side_name(board, seat)}.")
            case Offered(seat=seat, what=what):
                who = self._name(seat)
                mine = seat == model.my_seat
                thing = "a draw" if what == "draw" else "a rematch"
                self._out.report(
                    f"{who} offered {thing}." + ("" if mine else " Type accept or decline.")
                )
            case Declined(seat=seat, what=what):
                self._out.report(f"{self._name(seat)} declined the {what}.")
            case Said(name=name, text=text, to=to):
                self._out.say(
                    f"<{name}> {text}" + (" (to spectators)" if to == "spectators" else "")
                )
            case _:
                pass

    def _print_moves(self, drawn: View | None = None) -> None:
        """Prints the moves and the result that waited for the view with their notation."""
        for ply, seat, played in self._unprinted:
            after = drawn.view if drawn is not None and drawn.ply == ply + 1 else None
            self._out.say(words.move_line(self._board, ply, seat, played, after))
        self._unprinted.clear()
        match = self._model.match
        if self._result_due and match is not None and match.over is not None:
            self._out.say(words.result_text(self._board, match.over))
        self._result_due = False

    def _show_view(self, before: Model, message: View) -> None:
        """Prints the board: for a spectator always, for a player on their turn and at both ends."""
        if self._model.view is not message.view or _is_repeat(before.drawn, message):
            return
        mine = self._model.my_seat
        if not self._brief and (
            mine is None or message.view.turn in (None, mine) or message.ply == 0
        ):
            self._out.say(self._board_text())
        if self._is_over:
            self._ask_after_the_end()

    def _show_thinking(self, thinking: Thinking) -> None:
        """Prints that the AI warms up or has no engine, then its progress and its final result."""
        now_s = asyncio.get_running_loop().time()
        new_state = thinking.state != self._thinking_state
        ended = thinking.state == "done"
        due = now_s - self._thinking_shown_s >= THINKING_EVERY_S and thinking.depth > 0
        if new_state and thinking.state in ("searching", "queued"):
            self._thinking_shown_s = now_s
            due = False
        self._thinking_state = thinking.state
        if (
            (new_state and thinking.state in ("warming", "absent"))
            or (ended and thinking.depth > 0)
            or due
        ):
            self._thinking_shown_s = now_s
            self._out.report(f"  {words.thinking_text(self._thinker(thinking), thinking)}")

    def _show_presence(self, before: Model, presence: Presence) -> None:
        for seat, (was, now) in enumerate(zip(before.present, presence.seats, strict=False)):
            if was != now and seat != self._model.my_seat and self._model.seats[seat] is not None:
                self._out.report(
                    f"{self._name(seat)} {'is back' if now else 'has lost the connection or left'}."
                )

    def _ask(self) -> None:
        if self._model.moves and self._model.view is not None:
            if self._model.claim is not None:
                self._out.report(f"You may claim a draw ({self._model.claim}): type claim.")
            self._out.ask("Your move (or help)" if self._out.interactive else self._model.view.text)

    def _ask_after_the_end(self) -> None:
        if self._out.interactive:
            self._out.ask(
                "rematch or quit"
                if self._model.my_seat is not None
                else "quit, or wait for another match"
            )

    # --- input

    async def _read(self) -> None:
        while True:
            if not self._out.interactive:
                await self._until_input_is_due()
            line = await self._lines.next()
            self._out.answered()
            if line is None:
                if self._out.interactive:
                    return
                raise InputEnded
            if await self._execute(line):
                return

    async def _until_input_is_due(self) -> None:
        while not self._model.moves or self._model.view is None:
            self._changed.clear()
            await self._changed.wait()

    async def _execute(self, line: str) -> bool:
        """Executes a line; returns True when the user quits."""
        match read_line(line, self._model):
            case None:
                self._ask()
            case Play(move=move):
                new_id = self._new_id()
                await self._command(
                    Move(id=new_id, room=self._model.room, ply=self._model.ply, move=move.id)
                )
            case Try(text=text):
                await self._try(text)
            case Say(text=text):
                await self._command(Chat(id=self._new_id(), room=self._model.room, text=text))
                self._ask()
            case Unclear(reason=reason):
                self._out.report(f"error: {reason}")
                self._ask()
            case Do(word=Word.QUIT):
                return True
            case Do(word=word, about=about):
                await self._do(word, about)
        return False

    async def _try(self, text: str) -> None:
        """Lets the server parse a move; a text that it refuses may have been meant as a command."""
        try:
            move = Move(id=self._new_id(), room=self._model.room, ply=self._model.ply, move=text)
            v = (await self._c.command(move)).v
            while v is not None and self._model.v < v:
                self._changed.clear()
                await self._changed.wait()
        except Refused as refused:
            self._out.report(f"error: {refused.message}. {offer_text(self._model)}")
            self._ask()

    async def _do(self, word: Word, about: str) -> None:
        room = self._model.room
        match word:
            case Word.RESIGN:
                await self._command(Resign(id=self._new_id(), room=room))
            case Word.ABORT:
                await self._command(Abort(id=self._new_id(), room=room))
            case Word.CLAIM:
                await self._command(Claim(id=self._new_id(), room=room))
            case Word.DRAW:
                await self._command(OfferDraw(id=self._new_id(), room=room))
            case Word.ACCEPT:
                await self._command(Accept(id=self._new_id(), room=room))
            case Word.REMATCH:
                await self._command(Rematch(id=self._new_id(), room=room))
            case Word.DECLINE:
                await self._command(Decline(id=self._new_id(), room=room))
            case _:
                self._out.say(self._answer(word, about))
                self._ask()

    def _answer(self, word: Word, about: str) -> str:
        """The answer to a question about the room."""
        model, board = self._model, self._board
        match word:
            case Word.BOARD:
                return self._board_text()
            case Word.PIECES if board is not None and model.view is not None:
                return pieces_text(board, model.view, about)
            case Word.MOVES:
                return (
                    "Moves: " + ", ".join(one.id for one in model.moves)
                    if model.moves
                    else "It is not your turn."
                )
            case Word.LAST if model.match is not None and model.ply:
                seat = words.seat_of_ply(model, model.ply - 1)
                return words.move_line(
                    board, model.ply - 1, seat, model.match.moves[-1], model.view
                )
            case Word.LAST:
                return "No move yet."
            case Word.THINKING if model.thinking is not None and model.thinking.moves:
                return f"{self._thinker(model.thinking)}: {words.scores_text(model.thinking)}"
            case Word.THINKING:
                return "The AI has reported no scores."
            case Word.HELP:
                return help_text(model)
            case _:
                return "There is no board yet."

    async def _command(self, command: Command) -> None:
        """Sends a command and waits until its events have arrived."""
        v = await self._send(command)
        while v is not None and self._model.v < v:
            self._changed.clear()
            await self._changed.wait()

    async def _send(self, command: Command) -> int | None:
        """Sends a command; returns the v of its last event, or prints a refusal, returning None."""
        try:
            return (await self._c.command(command)).v
        except Refused as refused:
            self._out.report(f"error: {refused.message}")
            self._ask()
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
        return board_text(self._board, self._model.view, self._out.colour, flip)

    def _name(self, seat: int) -> str:
        occupant = self._model.seats[seat]
        return occupant.name if occupant is not None else words.side_name(self._board, seat)

    def _thinker(self, thinking: Thinking) -> str:
        return f"{self._name(thinking.seat)} ({words.side_name(self._board, thinking.seat)})"

    def _new_id(self) -> str:
        return self._c.new_id()


def _is_repeat(before: View | Turn | None, message: View | Turn) -> bool:
    """Whether a message repeats the earlier one, perhaps after a cut."""
    return before is not None and msgspec.structs.replace(before, v=message.v) == message


async def print_messages(connection: Connection, room: str, output: Output) -> None:
    """Prints every message of a room as one line of JSON.

    It ends with the running match; on a terminal it never ends.
    """
    model = Model(room=room, me=connection.identity)
    async with aclosing(connection.follow(room)) as messages:
        async for message in messages:
            model = apply(model, message)
            output.say(msgspec.json.encode(_as_object(message)).decode())
            over = model.match is not None and model.match.over is not None
            if over and isinstance(message, View) and not output.interactive:
                return


def _as_object(message: RoomMessage) -> object:
    """A message in its form on the wire."""
    if isinstance(message, Happened):
        event: dict[str, object] = msgspec.to_builtins(message.event)
        return {"t": "event", "room": message.room, "v": message.v, "at": message.at, **event}
    return message
