"""Plain line mode: the user types lines, and the room is printed as lines.

It works in a pipe, over ssh, on a dumb terminal and with a screen reader. On a terminal it executes
lines at any time. Elsewhere (a pipe, a file) it executes a line only when it is this player's turn,
so that a list of moves can be piped in, and it ends with the match.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol

import msgspec

from client.address import Address
from client.api import Invitation, Reading
from client.connection import Connection
from client.errors import PlyroomError, Refused
from client.messages import LoggedEvent, RoomMessage
from client.model import Model, apply
from client.terminal import words
from client.terminal.clocks import LowTime, time_text
from client.terminal.commands import (
    CONFIRMED,
    HINT_KINDS,
    PARSERS,
    ROOM_COMMANDS,
    CommandName,
    PlayMove,
    RunCommand,
    SendChat,
    TryMove,
    Unclear,
    is_permitted,
    matching_moves,
    move_advice,
    parse_line,
    plain_command,
)
from client.terminal.output import Output
from client.terminal.queries import answer_query
from client.terminal.transcript import Transcript
from server.commands import (
    Chat,
    ClientCommand,
    Configure,
    Hint,
    HintKind,
    Move,
    Rematch,
    Sit,
)
from server.protocol.codes import Code
from server.protocol.messages import CommandFrame, Snapshot, View

#: What to do with the link of a new room.
INVITATION = "Send the link to your opponent; the match begins when they join."
#: The same where the link is for this computer only.
BEGINNING = "The match begins when somebody joins."

#: Maximum number of lines from a pipe that wait for this player's turn.
MAX_PIPED_LINES = 10_000
#: After the end of a piped input, the time to wait for a match to begin, in seconds.
JOIN_S = 10.0
#: The same for an opponent who has gone, of whom nothing can be claimed yet.
RETURN_S = 60.0

#: The commands in a pipe that do not wait for this player's turn while the match may be claimed.
ANSWERS_TO_ABSENCE = {
    CommandName.CLAIM_WIN, CommandName.CALL_DRAW, CommandName.LET_AI_PLAY, CommandName.QUIT
}  # fmt: skip

#: The commands that a user on a terminal must confirm, each with the question.
QUESTIONS = {
    CommandName.RESIGN: "Resign the match?",
    CommandName.ABORT: "End the match without a result?",
}


class InputEnded(Exception):
    """The input ended before the match was over."""


class LineSource(Protocol):
    """A source of typed lines."""

    async def next(self) -> str | None:
        """Returns the next line; None at the end of the input."""


class MoveReader(Protocol):
    """Reads moves as people write them, which takes the rules of a game."""

    async def __call__(self, match: str, ply: int, text: str, /) -> Reading:
        """Returns the legal move that a text means. Raises PlyroomError, with the code of a
        refusal where the text is no move or may be several.
        """


class LineMode:
    """Shows one room on a terminal and executes the user's lines.

    With `sit` the user takes a free seat. `brief` leaves the boards out. An `invitation` is printed
    for the opponent. `read_move` reads what is neither a move by its id nor a command; without it
    only the game's own notation is a move. `on_message` is called with the model after each
    message, for a screen that draws it: moves and searches are then not printed.
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
        invitation: Invitation | None = None,
        read_move: MoveReader | None = None,
        on_message: Callable[[Model, RoomMessage], None] | None = None,
    ) -> None:
        self._read_move = read_move
        self._on_message = on_message
        self._connection = connection
        self._lines = lines
        self._output = output
        self._transcript = Transcript(
            output,
            address,
            brief=brief,
            server_ms=connection.server_ms,
            is_drawn=on_message is not None,
        )
        #: The match that was over when this player sat down.
        self._earlier_match: str | None = None
        self._low_time = LowTime()
        #: Set when the model has changed, for the clock.
        self._ticked = asyncio.Event()
        self._should_sit = sit
        self._invitation = invitation
        self._link = address.room_url(room) if invitation is None else invitation.link
        self._model = Model(room=room, me=connection.identity)
        self._changed = asyncio.Event()
        self._is_introduced = False
        #: The command that the user was asked to confirm.
        self._unconfirmed: CommandName | None = None
        #: The lines of a pipe that were not executed yet, and whether there will be no others.
        self._piped: deque[str] = deque()
        self._may_read = asyncio.Semaphore(MAX_PIPED_LINES)
        self._has_ended = False

    @property
    def model(self) -> Model:
        """The current model of the room."""
        return self._model

    async def run(self) -> None:
        """Runs until the user quits or, without a terminal, until the match is over.

        On a terminal the end of the input quits too. Elsewhere it raises InputEnded where a further
        line would be executed, and where this player's turn will hardly come: nobody has joined for
        JOIN_S, or the opponent has gone for RETURN_S or until the match may be claimed.
        """
        following = asyncio.create_task(self._follow(), name="plyroom room")
        reading = asyncio.create_task(self._read(), name="plyroom input")
        watching = asyncio.create_task(self._watch_clock(), name="plyroom clock")
        tasks = [following, reading, watching]
        if not self._output.interactive:
            tasks.append(asyncio.create_task(self._read_pipe(), name="plyroom pipe"))
        try:
            done, _ = await asyncio.wait(
                {following, reading, watching}, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _follow(self) -> None:
        async with aclosing(self._connection.follow(self._model.room)) as messages:
            async for message in messages:
                await self._receive(message)
                self._changed.set()
                self._ticked.set()
                if self._ends_pipe:
                    return

    @property
    def _ends_pipe(self) -> bool:
        """Whether the match is over that this run was to play or to watch, without a terminal."""
        match = self._model.match
        is_earlier = match is not None and match.id == self._earlier_match
        return (
            self._transcript.is_over(self._model)
            and not is_earlier
            and not self._output.interactive
        )

    async def _watch_clock(self) -> None:
        """Says once when this player's time becomes low."""
        loop = asyncio.get_running_loop()
        while True:
            self._ticked.clear()
            now_ms, end_s = self._connection.server_ms(), None
            if warning := self._low_time.warning(self._model, now_ms):
                self._output.report(warning)
            if (due_ms := self._low_time.due_ms(self._model)) is not None:
                end_s = loop.time() + max(1, due_ms - now_ms) / 1000
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end_s):
                    await self._ticked.wait()

    async def _receive(self, message: RoomMessage) -> None:
        """Updates the model and prints the message; the first snapshot introduces the room."""
        before, self._model = self._model, apply(self._model, message)
        if isinstance(message, Snapshot) and not self._is_introduced:
            self._is_introduced = True
            await self._introduce()
        else:
            self._transcript.show(before, self._model, message)
        if self._on_message is not None:
            self._on_message(self._model, message)

    async def _introduce(self) -> None:
        """Prints the room and its players, and with `sit` takes a free seat."""
        self._transcript.introduce(self._model, self._link)
        if self._should_sit:
            await self._take_seat()
        if self._invitation is not None and self._model.match is None:
            advice = self._invitation.advice
            self._output.report(f"{advice} {BEGINNING}" if advice else INVITATION)
        self._transcript.introduce_match(self._model)

    async def _take_seat(self) -> None:
        model = self._model
        if model.my_seat is not None:
            side = words.side_name(words.board_of(model), model.my_seat)
            self._output.report(
                f"You hold a seat here: {side}. (To play as another person, use --name NAME.)"
            )
            return
        for seat, occupant in enumerate(model.seats):
            if model.permits("sit") and occupant is None:
                v = await self._send(Sit(id=self._connection.new_id(), seat=seat))
                if v is not None:
                    self._transcript.seated_at_v = v
                    side = words.side_name(words.board_of(model), seat)
                    is_over = model.match is not None and model.match.over is not None
                    self._output.report(f"You {'have the seat' if is_over else 'play'} {side}.")
                    await self._ask_for_next_match()
                    return
        self._output.report(
            "Nobody can take a seat here now: you are watching."
            if None in model.seats
            else "Both seats are taken: you are watching."
        )

    async def _ask_for_next_match(self) -> None:
        """Offers a rematch where a match was over when this player sat down, without a terminal:
        nobody else would ask for it, and the match that is over does not end the run.
        """
        match = self._model.match
        if match is not None and match.over is not None and not self._output.interactive:
            self._earlier_match = match.id
            await self._send(Rematch(id=self._connection.new_id()))

    async def _read(self) -> None:
        while True:
            is_typed = self._output.interactive
            line = await (self._lines.next() if is_typed else self._next_piped_line())
            self._output.clear_prompt()
            if line is None or await self._execute(line):
                return

    async def _read_pipe(self) -> None:
        """Reads the lines of a pipe as they come, so that its end is noticed at once."""
        while not self._has_ended:
            await self._may_read.acquire()
            line = await self._lines.next()
            if line is None:
                self._has_ended = True
            else:
                self._piped.append(line)
            self._changed.set()

    async def _next_piped_line(self) -> str:
        """Returns the next line once it may be executed. Raises InputEnded as `run` says."""
        loop = asyncio.get_running_loop()
        patience_s, since_s = None, loop.time()
        while (index := self._executable_line()) is None:
            if self._patience_s() != patience_s:
                patience_s, since_s = self._patience_s(), loop.time()
            end_s = None if patience_s is None else since_s + patience_s
            if end_s is not None and loop.time() >= end_s:
                raise InputEnded
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end_s):
                    await self._changed.wait()
        line = self._piped[index]
        del self._piped[index]
        self._may_read.release()
        return line

    def _executable_line(self) -> int | None:
        """The number of the waiting line to execute now, or None.

        On this player's turn it is the first one. While the match may be claimed it is the first
        that answers this; the others, such as moves that were typed ahead, wait for the turn.
        """
        if self._is_my_turn:
            return 0 if self._piped else None
        if not self._model.claims_of_absence:
            return None
        for index, line in enumerate(self._piped):
            match parse_line(line, self._model):
                case RunCommand(command=command) if command in ANSWERS_TO_ABSENCE:
                    return index
        return None

    def _patience_s(self) -> float | None:
        """The time for which to wait for this player's turn, in seconds; None without a limit."""
        model = self._model
        if not self._has_ended:
            return None
        if self._is_my_turn or model.claims_of_absence:
            return 0.0
        if self._is_introduced and (not model.running or model.frozen is not None):
            return JOIN_S
        others = [there for seat, there in enumerate(model.present) if seat != model.my_seat]
        return RETURN_S if model.my_seat is not None and False in others else None

    @property
    def _is_my_turn(self) -> bool:
        return bool(self._model.moves and self._model.view)

    async def _wait_for_event(self, v: int | None) -> None:
        """Waits until the model has the event `v`; returns at once for None."""
        while v is not None and self._model.v < v:
            self._changed.clear()
            await self._changed.wait()

    async def _execute(self, line: str) -> bool:
        """Executes a line; returns True when the user quits."""
        if self._unconfirmed is not None:
            await self._answer_question(self._unconfirmed, line)
            return False
        match parse_line(line, self._model):
            case None:
                self._transcript.prompt(self._model)
            case PlayMove(move=move):
                new_id = self._connection.new_id()
                command = Move(id=new_id, ply=self._model.ply, move=move.id)
                if not await self._send_and_wait(command):
                    self._transcript.prompt(self._model)
            case TryMove(text=text):
                await self._try_move(text)
            case SendChat(text=text):
                await self._send_and_wait(Chat(id=self._connection.new_id(), text=text))
                self._transcript.prompt(self._model)
            case Unclear(reason=reason, instead=instead):
                self._output.report(f"error: {reason}")
                if instead:
                    self._output.give_back(instead)
                self._transcript.prompt(self._model)
            case RunCommand(command=CommandName.QUIT):
                return True
            case RunCommand(command=name, argument=argument):
                await self._run_command(name, argument)
        return False

    async def _try_move(self, text: str) -> None:
        """Lets the server read a move; if it refuses, the user may have meant a command."""
        try:
            token = await self._token(text)
            move = Move(id=self._connection.new_id(), ply=self._model.ply, move=token)
            ack = await self._connection.command(CommandFrame(self._model.room, move))
            await self._wait_for_event(ack.v)
        except Refused as refused:
            is_question = refused.code == Code.MOVE_AMBIGUOUS
            hint = "" if is_question else f" {move_advice(text, self._model)}"
            self._output.report(f"error: {refused.message}.{hint}")
            self._transcript.prompt(self._model)

    async def _token(self, text: str) -> str:
        """The move that a text means as the server reads it. Raises Refused if it means none.

        A server that cannot read it now, or is of an earlier version, gets the text as it is.
        """
        model = self._model
        if self._read_move is not None and model.match is not None:
            try:
                reading = await self._read_move(model.match.id, model.ply, text)
            except PlyroomError as error:
                if isinstance(error, Refused) and error.code.startswith("move."):
                    if error.code != Code.MOVE_MALFORMED:
                        raise
                    problem = f"{text!r} is neither a move nor a command here"
                    raise Refused(error.code, problem) from error
            else:
                if reading.says:
                    self._output.report_reading(reading.says)
                return reading.move
        matches = matching_moves(text, model.moves)
        return matches[0].id if len(matches) == 1 else text

    async def _answer_question(self, name: CommandName, line: str) -> None:
        """Executes the command if the user confirms it."""
        self._unconfirmed = None
        if line.strip().lower() in ("y", "yes"):
            await self._run_room_command(name)
        else:
            self._output.report("The match goes on.")
            self._transcript.prompt(self._model)

    async def _run_command(self, name: CommandName, argument: str) -> None:
        if name in (CommandName.MUTE, CommandName.UNMUTE):
            self._output.report(self._transcript.mute(self._model, name, argument))
            self._transcript.prompt(self._model)
        elif self._must_confirm(name, argument):
            self._unconfirmed = name
            self._output.ask(QUESTIONS[name])
        elif name is CommandName.THINKING and argument in words.THINKING_SETTING_TEXTS:
            setting: Any = argument
            new_id = self._connection.new_id()
            await self._send_and_wait(Configure(id=new_id, thinking=setting))
            self._transcript.prompt(self._model)
        elif name in ROOM_COMMANDS:
            await self._run_room_command(name, argument)
        elif name is CommandName.TIME:
            self._output.print(time_text(self._model, self._connection.server_ms()))
            self._transcript.prompt(self._model)
        elif name is CommandName.HINT:
            await self._ask_for_hint(argument)
        elif name is CommandName.NAME:
            await self._rename(argument)
        elif parse := PARSERS.get(name):
            await self._send_or_report(
                parse(name, argument, self._model, self._connection.new_id())
            )
        else:
            answer = answer_query(
                self._model, name, argument, self._output.colours, self._output.has_figures
            )
            self._output.print(answer)
            self._transcript.prompt(self._model)

    def _must_confirm(self, name: CommandName, argument: str) -> bool:
        """Whether to ask before a command: in a pipe nobody answers, and `resign yes` has."""
        if name not in QUESTIONS or not self._output.interactive:
            return False
        return argument.lower() != CONFIRMED and is_permitted(name, self._model)

    async def _send_or_report(self, command: ClientCommand | str) -> None:
        """Sends a command, or prints the error in its place."""
        if isinstance(command, str):
            self._output.report(f"error: {command}")
        else:
            await self._send_and_wait(command)
        self._transcript.prompt(self._model)

    async def _ask_for_hint(self, argument: str) -> None:
        """Requests a hint, which arrives as an `answer`; `argument` may be "piece" or "move"."""
        if argument and argument not in HINT_KINDS:
            self._output.report("error: type hint, hint move or hint piece")
        elif not self._model.running:
            self._output.report("error: there is no hint, because no match is being played")
        else:
            self._output.print("Looking for a hint ...")
            what: HintKind = argument or "moves"
            await self._send(Hint(id=self._connection.new_id(), ply=self._model.ply, what=what))
        self._transcript.prompt(self._model)

    async def _rename(self, new_name: str) -> None:
        """Changes the user's name, or says it."""
        try:
            name = await self._connection.rename(new_name) if new_name else self._connection.name
        except PlyroomError as error:
            self._output.report(f"error: {error}")
        else:
            now = "are now" if new_name else "are"
            self._output.report(f"You {now} {words.quoted(name)}.")
        self._transcript.prompt(self._model)

    async def _run_room_command(self, name: CommandName, argument: str = "") -> None:
        may = self._model.may or ()
        if name is CommandName.CLAIM and self._model.claim is None and "claim_win" in may:
            self._output.report(
                "error: there is no draw to claim. To claim the win, type claim-win."
            )
            self._transcript.prompt(self._model)
            return
        command = plain_command(name, self._model, self._connection.new_id(), argument)
        was_running = self._model.running
        await self._send_and_wait(command)
        # At the end of a match, the transcript shows the prompt after the board.
        if self._model.running or not was_running:
            self._transcript.prompt(self._model)

    async def _send_and_wait(self, command: ClientCommand) -> bool:
        """Sends a command and waits until its events have arrived; returns False if refused."""
        v = await self._send(command)
        await self._wait_for_event(v)
        return v is not None

    async def _send(self, command: ClientCommand) -> int | None:
        """Sends a command and returns the v of its last event; prints a refusal, returns None."""
        try:
            return (await self._connection.command(CommandFrame(self._model.room, command))).v
        except Refused as refused:
            self._output.report(f"error: {refused.message}")
            if isinstance(command, Chat):
                self._output.give_back(f"say {command.text}")
            return None


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
