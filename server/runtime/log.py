"""One log of events, and the state that a pure machine folds from it.

`EventLog` loads the log, catches up with other nodes, decides commands, appends with a
compare-and-set on the head, remembers the keys of commands, and hands every commit to its
subscribers. It knows neither rooms nor messages: a `Machine` knows what the events mean.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar

import structlog
from msgspec import Struct

from server.codes import Code
from server.ports import Ports
from server.rooms.model import Actor, CommandRejected, Moment
from server.store.base import (
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Projection,
    RoomHead,
    StoredEvent,
)

log = structlog.get_logger()

#: Attempts to commit a command, in case other nodes win the compare-and-set on the head.
TRIES = 5

#: Newest command keys that a log remembers. The store has all of them.
MAX_KEYS = 256

#: Newest entries that a log keeps for clients that reconnect. The store has all of them.
TAIL = 64

#: Events in one page read from the store.
PAGE = 1000


class LogMissing(Exception):
    """There is no such log."""


class State(Protocol):
    """A state folded from a log: its version, and the time of its last event in ms."""

    @property
    def v(self) -> int: ...

    @property
    def changed_ms(self) -> int: ...


class HasId(Protocol):
    """A command: the client chose its id."""

    @property
    def id(self) -> str: ...


S = TypeVar("S", bound=State)
C = TypeVar("C", bound=HasId, contravariant=True)
E = TypeVar("E")


class Machine(Protocol[S, C, E]):
    """The pure part of a log: what its events mean, and which events a command makes."""

    def parse(self, body: bytes) -> E:
        """The event of a log entry."""

    def first(self, log_id: str, event: E, at_ms: int) -> S:
        """The state after the first event. Raises ValueError for one that cannot be the first."""

    def evolve(self, state: S, event: E, at_ms: int) -> S:
        """The state after one more event. Total: every stored log loads."""

    def decide(self, state: S, command: C, moment: Moment) -> list[E]:
        """The events that a command makes now; none if it changes nothing. Raises
        CommandRejected.
        """

    def entry(self, state: S, event: E, at_ms: int) -> StoredEvent:
        """The log entry of the event that led to this state."""

    def projections(
        self, state: S, events: Sequence[E], attachment: bytes | None
    ) -> tuple[Projection, ...]:
        """The rows that change together with these events, which led to this state."""

    def next_deadline_ms(self, state: S) -> int | None:
        """The time at which a tick makes events in this state; None for never."""

    def due_ms(self, state: S) -> int | None:
        """The time at which a node must have this state in memory; None for never."""


class Cause(Enum):
    """How a node learned of events."""

    #: This node decided and appended them.
    COMMITTED = "committed"
    #: Another node announced them on the bus.
    RECEIVED = "received"
    #: They were found in the store.
    CAUGHT_UP = "caught up"


class Committed(Struct, Generic[S, E], frozen=True):
    """Events that stand in the log, with their entries and the states before and after them.

    `before` is None when the log was just created. `key` is the command's, if it was given here.
    """

    before: S | None
    events: tuple[E, ...]
    entries: tuple[StoredEvent, ...]
    after: S
    cause: Cause
    key: CommandKey | None = None


class Accepted(Struct, frozen=True):
    """The command's events are committed; the last one has version `v`."""

    v: int
    #: False when the command was carried out before, so nothing was appended now.
    is_new: bool = True


class Rejected(Struct, frozen=True):
    """The command changed nothing. `message` says what was expected."""

    code: Code
    message: str


Outcome = Accepted | Rejected


async def _nothing(events: Sequence[object]) -> None:
    pass


class EventLog(Generic[S, C, E]):
    """One log on one node. Only one task may call its coroutines.

    `subscriber` is called after every commit, in the order of the log, and must not fail.
    `prepare` is awaited with the events before each append.
    """

    __slots__ = (
        "_due_ms",
        "_keys",
        "_machine",
        "_ports",
        "_prepare",
        "_state",
        "_subscriber",
        "_tail",
        "is_behind",
        "is_responsible",
        "log_id",
    )  # fmt: skip

    def __init__(
        self,
        log_id: str,
        machine: Machine[S, C, E],
        ports: Ports,
        subscriber: Callable[[Committed[S, E]], None],
        prepare: Callable[[Sequence[E]], Awaitable[None]] = _nothing,
        known: S | None = None,
    ) -> None:
        self.log_id = log_id
        #: Whether the log may be ahead of the state; then `catch_up` comes before anything else.
        self.is_behind = False
        #: Whether this node appended the newest event, and so sees to what is due.
        self.is_responsible = known is not None
        self._machine = machine
        self._ports = ports
        self._subscriber = subscriber
        self._prepare = prepare
        self._state = known
        self._due_ms = machine.due_ms(known) if known is not None else None
        self._keys: dict[CommandKey, int] = {}
        self._tail: list[StoredEvent] = []

    @property
    def seen(self) -> S | None:
        """The state as last seen here; None until it is loaded."""
        return self._state

    @property
    def state(self) -> S:
        """The state as last seen here, once it is loaded."""
        assert self._state is not None, "the log is read before anything is served"
        return self._state

    @property
    def due_ms(self) -> int | None:
        """The time at which this node must have the state in memory; None for never, and when
        another node is responsible.
        """
        return self._due_ms if self.is_responsible else None

    @property
    def next_deadline_ms(self) -> int | None:
        """The time at which a tick is due on this node; None for never."""
        return None if self.due_ms is None else self._machine.next_deadline_ms(self.state)

    # --- reading ---

    async def load(self) -> RoomHead:
        """Reads the whole log and returns its head.

        Raises LogMissing when there is none, and StoreError when the store fails.
        """
        head = await self._ports.store.logs.head(self.log_id)
        if head is None:
            raise LogMissing(self.log_id)
        stored: list[StoredEvent] = []
        while page := await self._ports.store.logs.events(self.log_id, len(stored), PAGE):
            stored += page
            if len(page) < PAGE:
                break
        if not stored:  # deleted since the head was read
            raise LogMissing(self.log_id)
        self._state, _ = self._fold(None, stored)
        self._due_ms = self._machine.due_ms(self.state)
        self._keep(stored)
        self.is_responsible = head.node == self._ports.node
        return head

    async def catch_up(self) -> None:
        """Reads, applies and hands on the events that the store has and this node has not seen.

        They come from another node, which is then responsible for what follows, or from this one
        when the store failed before it confirmed the append.
        """
        while page := await self._ports.store.logs.events(self.log_id, self.state.v, PAGE):
            head = await self._ports.store.logs.head(self.log_id)
            # Nothing below awaits: events that were applied but not handed on would be a gap.
            self._take(page, Cause.CAUGHT_UP, head is not None and head.node == self._ports.node)
            if len(page) < PAGE:
                break
        self.is_behind = False

    async def receive(self, entries: Sequence[StoredEvent]) -> None:
        """Applies events that another node appended; reads the log if some before them miss."""
        if entries[-1].v <= self.state.v:
            return
        if entries[0].v != self.state.v + 1:
            await self.catch_up()
            return
        self._take(list(entries), Cause.RECEIVED, is_responsible=False)

    async def since(self, v: int) -> list[StoredEvent]:
        """The entries after version `v`, from memory or from the store."""
        head_v = self.state.v
        if v == head_v:
            return []
        if self._tail and self._tail[0].v <= v + 1:
            return [entry for entry in self._tail if entry.v > v]
        found = await self._ports.store.logs.events(self.log_id, v)
        return [entry for entry in found if entry.v <= head_v]

    def _take(self, page: list[StoredEvent], cause: Cause, is_responsible: bool) -> None:
        before = self.state
        self._state, events = self._fold(before, page)
        self._due_ms = self._machine.due_ms(self.state)
        self._keep(page)
        self.is_responsible = is_responsible
        self._subscriber(Committed(before, events, tuple(page), self.state, cause))

    def _fold(self, state: S | None, page: Sequence[StoredEvent]) -> tuple[S | None, tuple[E, ...]]:
        """The state after these entries, and their events. Nothing is changed when one fails."""
        events = tuple(self._machine.parse(entry.body) for entry in page)
        for event, entry in zip(events, page, strict=True):
            state = (
                self._machine.first(self.log_id, event, entry.at_ms)
                if state is None
                else self._machine.evolve(state, event, entry.at_ms)
            )
        return state, events

    def _keep(self, entries: Sequence[StoredEvent]) -> None:
        """Keeps the newest entries in memory for clients that reconnect."""
        self._tail += entries
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    # --- deciding ---

    async def execute(
        self, actor: Actor, command: C, received_ms: int, attachment: bytes | None = None
    ) -> Outcome:
        """Carries out a command once for each identity and id, and returns its outcome.

        `attachment` goes to the projections. Raises StoreError when the store fails; the command
        may or may not be committed then.
        """
        key = CommandKey(actor.identity, command.id)
        was_checked = False
        for _ in range(TRIES):
            if key in self._keys:
                self._ports.metrics.repeated += 1
                return Accepted(self._keys[key], is_new=False)
            try:
                moment = Moment(
                    actor, self._ports.now_ms(), received_ms,
                    self._ports.new_id, self._ports.settings,
                )  # fmt: skip
                events = self._machine.decide(self.state, command, moment)
            except CommandRejected as rejection:
                if not was_checked and await self._was_behind(key):
                    was_checked = True
                    continue
                return self._rejected(command, rejection)
            if not events:
                return Accepted(self.state.v, is_new=False)
            try:
                await self._append(events, key, attachment)
                return Accepted(self.state.v)
            except Conflict:
                self._ports.metrics.conflicts += 1
                await self.catch_up()
                was_checked = False  # another node may have committed this very command
            except Duplicate as made:
                self._ports.metrics.repeated += 1
                self._remember(key, made.last_v)
                await self.catch_up()
        return Rejected(
            Code.ROOM_BUSY, "other nodes changed the room first several times; send it again"
        )

    def _rejected(self, command: C, rejection: CommandRejected) -> Rejected:
        self._ports.metrics.rejected += rejection.code is not Code.GAME_FAULT
        log.debug("refused", room=self.log_id, command=command.id, code=rejection.code)
        return Rejected(rejection.code, rejection.message)

    async def _was_behind(self, key: CommandKey) -> bool:
        """Whether the store was ahead of this node when it rejected the command; catches up if
        so.
        """
        head = await self._ports.store.logs.head(self.log_id)
        behind = head is not None and head.v > self.state.v
        if behind:
            await self.catch_up()
        # This lookup comes after the head's, so it finds what was committed between the two.
        made = await self._ports.store.logs.find_command(self.log_id, key)
        if made is not None:
            self._remember(key, made[1])
            if made[1] > self.state.v:
                await self.catch_up()
        return behind or made is not None

    async def _append(self, events: list[E], key: CommandKey, attachment: bytes | None) -> None:
        """Commits the events of a command with its key, then applies and hands them on."""
        before = self.state
        await self._prepare(events)
        at_ms = max(self._ports.now_ms(), before.changed_ms)
        after = before
        stored: list[StoredEvent] = []
        for event in events:
            after = self._machine.evolve(after, event, at_ms)
            stored.append(self._machine.entry(after, event, at_ms))
        entries = tuple(stored)
        due_ms = self._machine.due_ms(after)
        self._ports.reached("before_append")
        begun_s = time.perf_counter()
        await self._ports.store.logs.append(
            Append(
                room=self.log_id, expected_v=before.v, events=entries,
                node=self._ports.node, due_ms=due_ms, command=key,
                projections=self._machine.projections(after, events, attachment),
            )
        )  # fmt: skip
        self._ports.reached("after_append")
        metrics = self._ports.metrics
        metrics.append_s.observe(time.perf_counter() - begun_s)
        metrics.commands += 1
        log.debug("committed", room=self.log_id, command=key.id, v=after.v)
        self._state, self._due_ms = after, due_ms
        self._keep(entries)
        self.is_responsible = True
        self._remember(key, after.v)
        self._subscriber(Committed(before, tuple(events), entries, after, Cause.COMMITTED, key))

    def _remember(self, key: CommandKey, v: int) -> None:
        """Remembers the version at which a command was committed."""
        self._keys[key] = v
        if len(self._keys) > MAX_KEYS:
            del self._keys[next(iter(self._keys))]
