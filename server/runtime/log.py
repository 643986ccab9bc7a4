"""One log of events, and the state that a pure state machine folds from it.

`EventLog` loads the log, catches up with other nodes, decides commands, appends with a
compare-and-set on the head, remembers the keys of commands, and passes every commit to its
subscriber. A `Machine` defines what the events mean.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

import structlog
from msgspec import Struct

from server.codes import Code
from server.ports import Ports
from server.rooms.model import (
    Actor,
    ActorKind,
    CommandRejected,
    FindAbsence,
    Moment,
    nobody_absent,
)
from server.store.base import (
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Projection,
    RoomHead,
    StoredEvent,
    StoreError,
)

log = structlog.get_logger()

#: Attempts to commit a command while other nodes win the compare-and-set on the head.
MAX_ATTEMPTS = 5

#: Maximum number of command keys that a log keeps in memory, the newest. The store has all keys.
MAX_KEYS = 256

#: Minimum number of the newest entries that stay in memory, for clients that reconnect. The store
#: has all entries.
TAIL = 64

#: Events in one page read from the store.
PAGE = 1000


#: Time in which a command that was answered `store.retry` counts from its first arrival when it
#: comes again, in ms. Clients repeat it within 4 s.
RETRY_MS = 10_000


class LogMissing(Exception):
    """There is no such log."""


class State(Protocol):
    """A state folded from a log: its version, and the time of its last event in ms."""

    @property
    def v(self) -> int: ...

    @property
    def changed_ms(self) -> int: ...


class HasId(Protocol):
    """A command with an id, which the client chooses."""

    @property
    def id(self) -> str: ...


S = TypeVar("S", bound=State)
C = TypeVar("C", bound=HasId, contravariant=True)
E = TypeVar("E")


class Machine(Protocol[S, C, E]):
    """The state machine of a log: what its events mean, and which events a command makes."""

    def parse(self, body: bytes) -> E:
        """Returns the event of a log entry."""

    def first(self, log_id: str, event: E, at_ms: int) -> S:
        """The state after the first event. Raises ValueError for one that cannot be the first."""

    def evolve(self, state: S, event: E, at_ms: int) -> S:
        """The state after one more event. Never raises, so every stored log loads."""

    def review(self, state: S) -> S:
        """The state as this process can serve it now, the same object if nothing has changed."""

    def decide(self, state: S, command: C, moment: Moment) -> list[E]:
        """The events that a command makes now; none if it changes nothing. Raises
        CommandRejected.
        """

    def check(self, before: S, after: S) -> None:
        """Raises CommandRejected if the events between these states must not be appended."""

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
    """How events came to a node."""

    #: This node decided and appended them.
    COMMITTED = "committed"
    #: Another node published them on the bus.
    RECEIVED = "received"
    #: This node read them from the store.
    CAUGHT_UP = "caught up"


class Committed(Struct, Generic[S, E], frozen=True):
    """Committed events, with their log entries and the states before and after them.

    `before` is None when the log was just created. `key` is that of the command if this
    node committed them.
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
    #: False if nothing was appended now: the command was committed before, or changes nothing.
    is_new: bool = True


class Rejected(Struct, frozen=True):
    """The command changed nothing. `message` says what was expected."""

    code: Code
    message: str


Outcome = Accepted | Rejected


async def _prepare_nothing(events: Sequence[object]) -> None:
    pass


class _FirstSent(NamedTuple):
    """A person's command that the store left unanswered: the time of its first arrival, in ms since
    1970, and of its last failure, in ms of `Ports.uptime_ms`.
    """

    command: object
    received_ms: int
    failed_ms: int


class EventLog(Generic[S, C, E]):
    """One log on one node. Only one task may call its coroutines.

    `subscriber` is called after every commit, in the order of the log, and must not fail.
    `prepare` is awaited with the events before each append.
    """

    __slots__ = (
        "_due_ms",
        "_first_sent",
        "_keys",
        "_machine",
        "_ports",
        "_prepare",
        "_state",
        "_subscriber",
        "_tail",
        "find_absence",
        "is_behind",
        "log_id",
        "responsible",
    )  # fmt: skip

    def __init__(
        self,
        log_id: str,
        machine: Machine[S, C, E],
        ports: Ports,
        subscriber: Callable[[Committed[S, E]], None],
        prepare: Callable[[Sequence[E]], Awaitable[None]] = _prepare_nothing,
        state: S | None = None,
    ) -> None:
        self.log_id = log_id
        #: Whether the log may be ahead of the state; then call `catch_up` before anything else.
        self.is_behind = False
        #: The node that appended the newest event or took the log over, and so must do the due
        #: work; "" before the log is loaded.
        self.responsible = ports.node if state is not None else ""
        #: Gives the state machine this node's view of who is connected.
        self.find_absence: FindAbsence = nobody_absent
        self._machine = machine
        self._ports = ports
        self._subscriber = subscriber
        self._prepare = prepare
        self._state = state
        self._due_ms = machine.due_ms(state) if state is not None else None
        self._keys: dict[CommandKey, int] = {}
        #: The commands of people that the store left unanswered within RETRY_MS, the oldest first.
        self._first_sent: dict[CommandKey, _FirstSent] = {}
        self._tail: list[StoredEvent] = []

    @property
    def is_responsible(self) -> bool:
        """Whether this node must do the due work."""
        return self.responsible == self._ports.node

    def take_over(self) -> None:
        """Makes this node the one that must do the due work; the store has recorded it."""
        self.responsible = self._ports.node

    def get_state(self) -> S | None:
        """The newest state on this node; None until it is loaded."""
        return self._state

    @property
    def state(self) -> S:
        """The newest state on this node, which must be loaded."""
        assert self._state is not None, "the log must be loaded before anything is served"
        return self._state

    @property
    def due_ms(self) -> int | None:
        """The time at which this node must have the state in memory; None for never, and when
        another node is responsible.
        """
        return self._due_ms if self.is_responsible else None

    @property
    def next_deadline_ms(self) -> int | None:
        """The time at which a tick makes events, whichever node must do it; None for never."""
        return self._machine.next_deadline_ms(self.state)

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
        self._extend_tail(stored)
        self.responsible = head.node
        return head

    async def catch_up(self) -> None:
        """Reads the events that the store has and this node has not, and applies them.

        Another node has appended them, and is then the responsible one; or this node has, and the
        store failed before it confirmed the append.
        """
        while page := await self._ports.store.logs.events(self.log_id, self.state.v, PAGE):
            head = await self._ports.store.logs.head(self.log_id)
            # Nothing below awaits: the subscriber must not miss an event that was applied.
            self._apply(page, Cause.CAUGHT_UP, "" if head is None else head.node)
            if len(page) < PAGE:
                break
        self.is_behind = False

    async def receive(self, node: str, entries: Sequence[StoredEvent]) -> None:
        """Applies events that another node appended; reads the log if earlier ones are missing."""
        if entries[-1].v <= self.state.v:
            return
        if entries[0].v != self.state.v + 1:
            await self.catch_up()
            return
        self._apply(list(entries), Cause.RECEIVED, node)

    def review(self) -> bool:
        """Changes the state to what this process can serve now, without an event; returns whether
        it has changed.
        """
        before = self.state
        self._state = self._machine.review(before)
        if self._state is before:
            return False
        self._due_ms = self._machine.due_ms(self.state)
        return True

    async def since(self, v: int) -> list[StoredEvent]:
        """Returns the entries after version `v`, from memory or from the store."""
        head_v = self.state.v
        if v == head_v:
            return []
        if self._tail and self._tail[0].v <= v + 1:
            return [entry for entry in self._tail if entry.v > v]
        entries = await self._ports.store.logs.events(self.log_id, v)
        return [entry for entry in entries if entry.v <= head_v]

    def _apply(self, page: list[StoredEvent], cause: Cause, responsible: str) -> None:
        """Applies entries to the state and passes their events to the subscriber."""
        before = self.state
        self._state, events = self._fold(before, page)
        self._due_ms = self._machine.due_ms(self.state)
        self._extend_tail(page)
        self.responsible = responsible
        self._subscriber(Committed(before, events, tuple(page), self.state, cause))

    def _fold(self, state: S | None, page: Sequence[StoredEvent]) -> tuple[S | None, tuple[E, ...]]:
        """Returns the state after these entries, and their events. Changes nothing itself."""
        events = tuple(self._machine.parse(entry.body) for entry in page)
        for event, entry in zip(events, page, strict=True):
            state = (
                self._machine.first(self.log_id, event, entry.at_ms)
                if state is None
                else self._machine.evolve(state, event, entry.at_ms)
            )
        return state, events

    def _extend_tail(self, entries: Sequence[StoredEvent]) -> None:
        """Keeps the newest entries in memory for clients that reconnect."""
        self._tail += entries
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    # --- deciding ---

    async def execute(
        self,
        actor: Actor,
        command: C,
        received_ms: int,
        attachment: bytes | None = None,
        not_before_ms: int = 0,
    ) -> Outcome:
        """Carries out a command once for each identity and id, and returns its outcome.

        `attachment` is for the projections. Raises StoreError when the store fails; the command may
        or may not be committed then. The same command of a person counts from its first arrival
        when it comes again within RETRY_MS. The events are not earlier than `not_before_ms`.
        """
        key = CommandKey(actor.identity, command.id)
        if self._first_sent:
            received_ms = self._first_arrival(key, command, received_ms)
        try:
            outcome = await self._execute(
                actor, command, key, received_ms, attachment, not_before_ms
            )
        except StoreError:
            if actor.kind is ActorKind.PERSON:
                self._first_sent.pop(key, None)
                failed_ms = self._ports.uptime_ms()
                self._first_sent[key] = _FirstSent(command, received_ms, failed_ms)
                if len(self._first_sent) > MAX_KEYS:
                    del self._first_sent[next(iter(self._first_sent))]
            raise
        if self._first_sent:
            self._first_sent.pop(key, None)
        return outcome

    def _first_arrival(self, key: CommandKey, command: C, received_ms: int) -> int:
        """The time at which a command arrived first, if it is the same that had no answer."""
        self._forget_late_retries()
        first = self._first_sent.get(key)
        if first is None or first.command != command:
            return received_ms
        return min(received_ms, first.received_ms)

    def _forget_late_retries(self) -> None:
        """Forgets the commands that can no longer come again in time."""
        while self._first_sent:
            key, first = next(iter(self._first_sent.items()))
            if self._ports.uptime_ms() - first.failed_ms <= RETRY_MS:
                break
            del self._first_sent[key]

    @property
    def retries_end_ms(self) -> int | None:
        """The time, in ms of `Ports.uptime_ms`, until which a command may come again that arrived
        before and had no answer; None without one.
        """
        if not self._first_sent:
            return None
        self._forget_late_retries()
        last = next(reversed(self._first_sent.values()), None)
        return None if last is None else last.failed_ms + RETRY_MS

    async def _execute(
        self,
        actor: Actor,
        command: C,
        key: CommandKey,
        received_ms: int,
        attachment: bytes | None,
        not_before_ms: int,
    ) -> Outcome:
        """Decides a command and appends its events, again if another node was first."""
        was_checked = False
        for _ in range(MAX_ATTEMPTS):
            if key in self._keys:
                self._ports.metrics.repeated += 1
                return Accepted(self._keys[key], is_new=False)
            try:
                now_ms = self._ports.now_ms()
                moment = Moment(
                    actor, now_ms, received_ms or now_ms,
                    self._ports.new_id, self._ports.settings, self._ports.find_game,
                    self.find_absence, self._ports.kind_of_question,
                )  # fmt: skip
                events = self._machine.decide(self.state, command, moment)
            except CommandRejected as rejection:
                if not was_checked and await self._catch_up_if_behind(key):
                    was_checked = True
                    continue
                return self._reject(command, rejection)
            if not events:
                return Accepted(self.state.v, is_new=False)
            try:
                await self._append(events, key, attachment, not_before_ms)
                return Accepted(self.state.v)
            except CommandRejected as rejection:
                return self._reject(command, rejection)
            except Conflict:
                self._ports.metrics.conflicts += 1
                await self.catch_up()
                was_checked = False  # another node may have committed the same command
            except Duplicate as duplicate:
                self._ports.metrics.repeated += 1
                self._remember(key, duplicate.last_v)
                await self.catch_up()
        return Rejected(
            Code.ROOM_BUSY, "other nodes changed the room first several times; send it again"
        )

    def _reject(self, command: C, rejection: CommandRejected) -> Rejected:
        """Counts and logs a rejection; returns it as the outcome."""
        self._ports.metrics.rejected += rejection.code is not Code.GAME_FAULT
        log.debug("refused", room=self.log_id, command=command.id, code=rejection.code)
        return Rejected(rejection.code, rejection.message)

    async def _catch_up_if_behind(self, key: CommandKey) -> bool:
        """Catches up if the store was ahead of this node when it rejected the command.

        Returns whether it was, or whether the command is committed.
        """
        head = await self._ports.store.logs.head(self.log_id)
        was_behind = head is not None and head.v > self.state.v
        if was_behind:
            await self.catch_up()
        # This lookup follows that of the head, so it also finds a command committed in between.
        committed = await self._ports.store.logs.find_command(self.log_id, key)
        if committed is not None:
            self._remember(key, committed[1])
            if committed[1] > self.state.v:
                await self.catch_up()
        return was_behind or committed is not None

    async def _append(
        self, events: list[E], key: CommandKey, attachment: bytes | None, not_before_ms: int
    ) -> None:
        """Commits the events of a command with its key, applies them and calls the subscriber.

        Raises CommandRejected if they cannot be applied, and Conflict, Duplicate and StoreError.
        """
        before = self.state
        await self._prepare(events)
        at_ms = max(self._ports.now_ms(), before.changed_ms, not_before_ms)
        after = before
        new_entries: list[StoredEvent] = []
        for event in events:
            after = self._machine.evolve(after, event, at_ms)
            new_entries.append(self._machine.entry(after, event, at_ms))
        self._machine.check(before, after)
        entries = tuple(new_entries)
        due_ms = self._machine.due_ms(after)
        self._ports.reached("before_append")
        started_s = time.perf_counter()
        await self._ports.store.logs.append(
            Append(
                room=self.log_id, expected_v=before.v, events=entries,
                node=self._ports.node, due_ms=due_ms, command=key,
                projections=self._machine.projections(after, events, attachment),
            )
        )  # fmt: skip
        self._ports.reached("after_append")
        metrics = self._ports.metrics
        metrics.append_s.observe(time.perf_counter() - started_s)
        metrics.commands += 1
        log.debug("committed", room=self.log_id, command=key.id, v=after.v)
        self._state, self._due_ms = after, due_ms
        self._extend_tail(entries)
        self.responsible = self._ports.node
        self._remember(key, after.v)
        self._subscriber(Committed(before, tuple(events), entries, after, Cause.COMMITTED, key))

    def _remember(self, key: CommandKey, v: int) -> None:
        """Remembers the version at which a command was committed."""
        self._keys[key] = v
        if len(self._keys) > MAX_KEYS:
            del self._keys[next(iter(self._keys))]
