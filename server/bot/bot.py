"""The room's bot on one node: it answers the questions in the lines of chat that the node commits.

A line stays unanswered if the node dies or the queue is full. No line is answered twice, because a
public answer is a command of the room whose id is made of the line's version. A private answer goes
to the asker's connections on all nodes; a node that receives it checks again that it is allowed.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from engine.search.job import SearchError
from server.bot.api import Act, Answer, Ask, ChatCommand, Reply, Search, Switch
from server.bot.calls import Calls, CommandFailed
from server.bot.explanations.rules_text import find_passage
from server.bot.registry import find_command, nearest_command
from server.bus.base import AnswerSent, NodeMessage
from server.codes import Code
from server.commands import BotLine, ChatTo, Command
from server.events import Said
from server.ids import IdentityId, RoomId
from server.ports import Follower
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.protocol.wording import StoredThought
from server.questions import UNKNOWN, Question, parse_question, words_to_bot
from server.rooms.model import AUTHOR_ONLY, BOT, Actor, CommandRejected, Room
from server.rooms.permissions import viewer_of
from server.runtime.log import Cause, Outcome, Rejected
from server.runtime.node.hub import Hub
from server.runtime.observers import RoomCommit
from server.runtime.room.room_runner import RoomRunner
from server.store.base import StoreError

log = structlog.get_logger()

#: Maximum number of questions in the queue.
MAX_QUEUED = 64
#: Maximum number of questions that the bot answers at a time.
MAX_CONCURRENT = 16
#: Maximum number of attempts at a command of the room while the store fails.
MAX_ATTEMPTS = 3
#: Time limit for a search and its wait for an engine, in seconds.
SEARCH_S = 60.0

#: The words after the name of a switch that turn it.
ON, OFF = "on", "off"
#: The switches of a room in which none is on.
NO_SWITCHES: frozenset[tuple[IdentityId, str]] = frozenset()
#: The answer to a question that the bot does not understand.
KNOWN_QUESTIONS = (
    'The bot understands a few questions only, such as "What should I do?", "Who is winning?" and'
    ' "Why did you play that?", and it looks for the words of a question in the rules. /help lists'
    " the commands."
)

_decode_thought = msgspec.json.Decoder(StoredThought).decode


class PendingQuestion(Struct, frozen=True):
    """A question that waits for its answer, with the version and the audience of its line."""

    room_id: RoomId
    v: int
    asker: Actor
    to: str
    question: Question


class Bot:
    """Answers the questions of a node's rooms. `open_bot` runs it."""

    def __init__(self, hub: Hub, calls: Calls) -> None:
        self.switches = Switches(hub)
        self._hub = hub
        self._calls = calls
        self._queue: asyncio.Queue[PendingQuestion] = asyncio.Queue(MAX_QUEUED)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    def on_commit(self, commit: RoomCommit) -> None:
        """Queues the questions that this node commits; other nodes answer theirs. An observer."""
        for event, entry in zip(commit.events, commit.entries, strict=True):
            if type(event) is not Said or event.by:
                continue
            asker = Actor(IdentityId(event.identity), event.name)
            question = _question(commit.after, event)
            if commit.cause is not Cause.COMMITTED:
                self.switches.on_line(commit.after.id, asker.identity, event.text)
            elif question is not None:
                self._enqueue(PendingQuestion(commit.after.id, entry.v, asker, event.to, question))

    async def run(self) -> None:
        """Answers questions until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                pending = await self._queue.get()
                await self._slots.acquire()
                task = tasks.create_task(self._answer(pending), name=f"answer in {pending.room_id}")
                task.add_done_callback(lambda _: self._slots.release())

    def followers_of(self, room_id: RoomId, identity: IdentityId) -> list[Follower]:
        """The connections of a person to a room on this node."""
        runner = self._hub.runner(room_id)
        if runner is None:
            return []
        return [follower for follower, _ in runner.followers if follower.identity == identity]

    def send(self, identity: IdentityId, answer: wire.Answer, command: str) -> None:
        """Sends a private answer of a command to a person's connections on all nodes.

        The other nodes check again whether the person may have it. Without a command they do not.
        """
        self._send_here(identity, answer)
        self._hub.ports.bus.publish(AnswerSent(self._hub.ports.node, identity, answer, command))

    def on_message(self, message: NodeMessage) -> None:
        """Sends another node's private answer to this node's connections of the person."""
        if not isinstance(message, AnswerSent) or message.node == self._hub.ports.node:
            return
        identity = IdentityId(message.identity)
        if self._is_allowed(RoomId(message.answer.room), identity, message.command):
            self._send_here(identity, message.answer)

    def _is_allowed(self, room_id: RoomId, identity: IdentityId, name: str) -> bool:
        """Whether a person may have the answer of a command in the room as this node knows it."""
        runner, command = self._hub.runner(room_id), find_command(name)
        if runner is None or runner.room is None or (name and command is None):
            return False
        try:
            viewer = viewer_of(runner.room, identity)
            return command is None or command.when(runner.room, viewer) is None
        except Exception:  # a plug-in's condition may raise anything
            log.exception("condition of a chat command failed", command=name)
            return False

    def _send_here(self, identity: IdentityId, answer: wire.Answer) -> None:
        message = Outbound(answer)
        for follower in self.followers_of(RoomId(answer.room), identity):
            follower.send(message)

    # --- one question

    def _enqueue(self, pending: PendingQuestion) -> None:
        try:
            self._queue.put_nowait(pending)
        except asyncio.QueueFull:
            self._tell(
                pending, Answer("The bot has too many questions to answer; ask again later.")
            )

    async def _answer(self, pending: PendingQuestion) -> None:
        """Answers one question, or tells the asker why not."""
        try:
            name = pending.question.command
            command = find_command(name)
            if name == UNKNOWN:
                self._tell(pending, Answer(KNOWN_QUESTIONS))
            elif command is None:
                nearest = nearest_command(name)
                text = f"There is no /{name}. Did you mean /{nearest}? /help lists the commands."
                self._tell(pending, Answer(text))
            else:
                await self._deliver(pending, command, await self._reply(pending, command))
        except CommandFailed as failure:
            self._tell(pending, Answer(str(failure)))
        except CommandRejected as refusal:
            self._tell(pending, Answer(_sentence(refusal.message)))
        except (SearchError, TimeoutError):
            self._tell(pending, Answer("The engine gave no answer; ask again later."))
        except StoreError:
            self._tell(pending, Answer("The server cannot answer now; ask again later."))
        except Exception:
            log.exception("question failed", room=pending.room_id, v=pending.v)
            self._tell(pending, Answer("The server failed on this question; its log says why."))

    async def _reply(self, pending: PendingQuestion, command: ChatCommand) -> Reply:
        """Returns the reply of a command, after its searches."""
        ask = await self._ask(pending, command)
        reply = await self._calls.call(command, lambda: command.run(ask))
        for _ in range(command.cost):
            if not isinstance(reply, Search):
                break
            async with asyncio.timeout(SEARCH_S):
                searches = self._hub.ports.background
                result = await searches.search(pending.asker.identity, reply.job)
            then = reply.then
            reply = await self._calls.call(command, lambda: then(result))  # noqa: B023
        if isinstance(reply, Answer) and reply.arrows and self._has_moved_on(ask):
            return replace(reply, arrows=())  # clients draw arrows on the newest position
        return reply

    def _has_moved_on(self, ask: Ask) -> bool:
        """Whether the board has changed since the question."""
        runner = self._hub.runner(ask.room.id)
        current = None if runner is None or runner.room is None else runner.room.match
        return ask.match is None or current is None or current.digest != ask.match.digest

    async def _ask(self, pending: PendingQuestion, command: ChatCommand) -> Ask:
        """Returns the question for a command. Raises CommandRejected if it is not allowed now."""
        room = self._check(pending, command)
        thoughts = await self._thoughts(room) if command.needs_thoughts else {}
        identity = pending.asker.identity
        return Ask(
            room, viewer_of(room, identity), pending.question.words, pending.v, thoughts,
            switches=self.switches.names(room.id, identity), at_ms=self._hub.ports.now_ms(),
        )  # fmt: skip

    def _check(self, pending: PendingQuestion, command: ChatCommand) -> Room:
        """Returns the room as it is now. Raises CommandRejected if the command is not allowed."""
        runner = self._hub.runner(pending.room_id)
        if runner is None or runner.room is None:
            raise CommandFailed("The room is closed.")
        refusal = command.when(runner.room, viewer_of(runner.room, pending.asker.identity))
        if refusal is not None:
            raise CommandRejected(*refusal)
        return runner.room

    async def _thoughts(self, room: Room) -> dict[int, StoredThought]:
        """The AI's searches for the moves that it made and did not take back, by ply."""
        match = room.match
        if match is None:
            return {}
        stored = await self._hub.ports.store.projections.thoughts(match.id)
        newest = {each.ply: each.body for each in sorted(stored, key=lambda each: each.v)}
        thoughts: dict[int, StoredThought] = {}
        for ply, played in enumerate(match.moves):
            if ply in newest:
                thought = _decode_thought(newest[ply])
                if thought.move == played.move:
                    thoughts[ply] = thought
        return thoughts

    # --- replies

    async def _deliver(self, pending: PendingQuestion, command: ChatCommand, reply: Reply) -> None:
        """Carries out a reply. The command must still be allowed."""
        self._check(pending, command)
        match reply:
            case Answer(is_public=True) if pending.to != AUTHOR_ONLY:
                await self._say(pending, reply.text)
            case Answer():
                self._tell(pending, reply, command.name)
            case Act():
                await self._command(
                    pending, pending.asker, replace(reply.command, id=f"bot:{pending.v}")
                )
                self._tell(pending, Answer(reply.text), command.name)
            case Switch():
                self.switches.turn(pending.room_id, pending.asker.identity, reply.name, reply.is_on)
                self._tell(pending, Answer(reply.text), command.name)
            case _:
                log.warning("too many searches for a question", command=command.name)
                raise CommandFailed(f"/{command.name} gave no answer.")

    async def _say(self, pending: PendingQuestion, text: str) -> None:
        """Answers in the chat, to all readers of the question."""
        to: ChatTo = "spectators" if pending.to == "spectators" else "room"
        await self._command(pending, BOT, BotLine(f"bot:{pending.v}", text, pending.v, to))

    async def _command(self, pending: PendingQuestion, actor: Actor, command: Command) -> None:
        """Sends a command to the room. Raises CommandRejected if the room refuses it."""
        outcome: Outcome = Rejected(Code.STORE_RETRY, "")
        for _ in range(MAX_ATTEMPTS):
            outcome = await self._hub.command(pending.room_id, actor, command)
            if not (isinstance(outcome, Rejected) and outcome.code is Code.STORE_RETRY):
                break
        if isinstance(outcome, Rejected):
            raise CommandRejected(outcome.code, outcome.message)

    def _tell(self, pending: PendingQuestion, answer: Answer, command: str = "") -> None:
        """Sends an answer of a command, or without one a reason why there is none, to the asker."""
        message = wire.Answer(
            room=pending.room_id, v=pending.v, text=answer.text,
            arrows=answer.arrows, candidates=answer.candidates,
        )  # fmt: skip
        self.send(pending.asker.identity, message, command)


class Switches:
    """What people turn on for themselves in the rooms of this node, such as the coach.

    The switches are in memory only. When a node opens a room it finds them again in the room's last
    lines of chat, where `/NAME on` and `/NAME off` are the commands of the switch NAME: so the
    coach stays on over a restart of the server, and on another node.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        #: The switches that are on in each open room: the identity and the name. A closed room has
        #: no runner any more.
        self._on: WeakKeyDictionary[RoomRunner, frozenset[tuple[IdentityId, str]]] = (
            WeakKeyDictionary()
        )

    def turn(self, room_id: RoomId, identity: IdentityId, name: str, is_on: bool) -> None:
        """Turns a switch of a person on or off. Does nothing in a room that is not open."""
        runner = self._hub.runner(room_id)
        if runner is not None and runner.room is not None:
            switch = {(identity, name)}
            switches = self._of(runner)
            self._on[runner] = switches | switch if is_on else switches - switch

    def on_line(self, room_id: RoomId, identity: IdentityId, text: str) -> None:
        """Turns the switch that a line of chat names, if it does. For lines of other nodes."""
        question = parse_question(text, has_ai=False)
        if question is None or question.words[:1] not in ((ON,), (OFF,)):
            return
        if find_command(question.command) is not None:
            self.turn(room_id, identity, question.command, question.words[0] == ON)

    def names(self, room_id: RoomId, identity: IdentityId) -> frozenset[str]:
        """The names of the switches that are on for a person."""
        return frozenset(name for who, name in self._in(room_id) if who == identity)

    def people(self, room_id: RoomId, name: str) -> frozenset[IdentityId]:
        """The people for whom a switch is on."""
        return frozenset(who for who, each in self._in(room_id) if each == name)

    def _in(self, room_id: RoomId) -> frozenset[tuple[IdentityId, str]]:
        """The switches of a room; none if it is not open."""
        runner = self._hub.runner(room_id)
        return NO_SWITCHES if runner is None else self._of(runner)

    def _of(self, runner: RoomRunner) -> frozenset[tuple[IdentityId, str]]:
        """The switches of a room, from its chat when they are first wanted."""
        switches = self._on.get(runner)
        if switches is None:
            if runner.room is None:  # the node is still reading it
                return NO_SWITCHES
            self._on[runner] = NO_SWITCHES
            for line in runner.room.chat:
                if not line.by:
                    self.on_line(runner.room_id, IdentityId(line.identity), line.text)
            switches = self._on[runner]
        return switches


def _question(room: Room, line: Said) -> Question | None:
    """The question of a person's line that the bot answers; None for a line to other people.

    One that is not plain is about the rules if they have its words.
    """
    question = parse_question(line.text, room.has_ai)
    is_for_it = question is None and _is_for_bot(room, line)
    if (question is not None and question.command != UNKNOWN) or not (question or is_for_it):
        return question
    words = words_to_bot(line.text)
    if room.game is not None and find_passage(room.game.rules.RULES, words) is not None:
        return Question("rules", tuple(words.split()))
    if is_for_it and not _is_first_unknown(room, line):
        return None
    return Question(UNKNOWN)


def _is_for_bot(room: Room, line: Said) -> bool:
    """Whether a line is a question that is not plain and that nobody else can answer: it ends with
    a question mark, and its author plays against an AI without another person in a seat.
    """
    people = {each.identity for each in room.seats if each is not None and each.kind != "ai"}
    kept = [each for each in room.seats if each is not None and each.kept_for is not None]
    return room.has_ai and not kept and people == {line.identity} and _is_unknown(line.text)


def _is_first_unknown(room: Room, line: Said) -> bool:
    """Whether no earlier line of the author in memory is a question that is not plain."""
    own = [each.text for each in room.chat if each.identity == line.identity and not each.by]
    return sum(map(_is_unknown, own)) <= 1


def _is_unknown(text: str) -> bool:
    return text.rstrip().endswith("?") and parse_question(text, has_ai=True) is None


def _sentence(refusal: str) -> str:
    """The message of a refusal as a sentence."""
    return f"{refusal[:1].upper()}{refusal[1:]}."


@asynccontextmanager
async def open_bot(hub: Hub, calls: Calls | None = None) -> AsyncIterator[Bot]:
    """Runs the bot of a node until the block ends."""
    bot = Bot(hub, calls or Calls())
    unsubscribe = hub.observers.subscribe(bot.on_commit)
    stop_listening = hub.ports.bus.listen(bot.on_message)
    task = asyncio.create_task(bot.run(), name="bot")
    try:
        yield bot
    finally:
        stop_listening()
        unsubscribe()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
