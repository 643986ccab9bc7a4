"""The rooms that a node has in memory, each with its runner and its task."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import structlog

from server.ids import RoomId
from server.limits.by_address import Limits
from server.ports import Ports
from server.rooms.model import Room
from server.runtime.followers.bus_flow import BusFlow
from server.runtime.followers.connections import Connections
from server.runtime.node.room_machine import RoomMachine
from server.runtime.observers import Observers
from server.runtime.room.room_runner import RoomRunner

log = structlog.get_logger()

#: Time for which a new room's place in memory is reserved for its creator to join, in seconds. A
#: shorter `room_idle_s` takes precedence.
RESERVED_S = 10.0
#: Time after which a room leaves memory when all of its followers are on other nodes, in seconds:
#: until then this node receives each of its events.
MOVED_ROOM_S = 2.0


class OpenRooms:
    """Opens rooms within the limits of memory, and closes idle ones.

    `observers` are those of all rooms, `flow` is the bus's, `connections` are all of this node.
    `on_presence_change` is called with the id of a room whose followers have changed.
    """

    def __init__(
        self,
        ports: Ports,
        tasks: asyncio.TaskGroup,
        limits: Limits,
        observers: Observers,
        flow: BusFlow,
        connections: Connections,
        on_presence_change: Callable[[RoomId], None],
    ) -> None:
        self._ports = ports
        self._tasks = tasks
        self._slots = limits.room_slots
        self._command_limits = limits.commands
        self._observers = observers
        self._flow = flow
        self._connections = connections
        self._on_presence_change = on_presence_change
        self._machine = RoomMachine(ports)
        self._runners: dict[RoomId, RoomRunner] = {}
        #: The tasks of the runners, by room id.
        self._runner_tasks: dict[RoomId, asyncio.Task[None]] = {}
        #: New rooms, and the loop time until which the place of each is reserved.
        self._reserved_until_s: dict[RoomId, float] = {}

    def __len__(self) -> int:
        return len(self._runners)

    def __iter__(self) -> Iterator[RoomRunner]:
        """Iterates over the runners. Rooms may be opened and closed during the iteration."""
        return iter(tuple(self._runners.values()))

    def ids(self) -> set[RoomId]:
        """Returns the ids of the open rooms."""
        return set(self._runners)

    def get(self, room_id: RoomId) -> RoomRunner | None:
        """Returns the room's runner, or None if the room is not open."""
        return self._runners.get(room_id)

    def open(self, room_id: RoomId, address: str, room: Room | None = None) -> RoomRunner:
        """Returns the room's runner, and starts it if the room is not open.

        `room` is a room that was just created. Raises LimitExceeded when there is no place.
        """
        if room_id in self._runners:
            return self._runners[room_id]
        if room_id not in self._slots:
            self.make_place(address)
            self._slots.take(room_id, address)
        runner = RoomRunner(
            room_id, self._ports, self._machine, self._spawn,
            self._observers, self._flow, self._connections, self._on_presence_change,
            self._command_limits, room,
        )  # fmt: skip
        self._runners[room_id] = runner
        self._runner_tasks[room_id] = self._spawn(self._run(runner), f"room {room_id}")
        return runner

    def open_new(self, room: Room, address: str) -> None:
        """Opens a room that was just created, and reserves its place for RESERVED_S."""
        now_s = asyncio.get_running_loop().time()
        self._reserved_until_s[room.id] = now_s + RESERVED_S
        self.open(room.id, address, room)

    def end_reservation(self, room_id: RoomId) -> None:
        """Ends the reservation of a new room: it may be closed like any other."""
        self._reserved_until_s.pop(room_id, None)

    def make_place(self, address: str) -> None:
        """Closes idle rooms if there is no place in memory for another one.

        Raises LimitExceeded if there is still none.
        """
        if self._slots.is_full():
            self._close_idle(self._runners)
        elif self._slots.is_full_for(address):
            self._close_idle(self._slots.rooms_of(address))
        self._slots.check(address, math.ceil(self._ports.settings.room_idle_s))

    def close_idle(self, after_s: float) -> None:
        """Closes the rooms that have been idle for `after_s` seconds, and earlier those whose
        followers have gone to other nodes.
        """
        now_ms = self._ports.uptime_ms()
        for runner in self:
            idle_s = min(after_s, MOVED_ROOM_S) if runner.followers.are_elsewhere else after_s
            was_used_recently = now_ms - idle_s * 1000 < runner.idle_since_ms
            if runner.is_idle and not was_used_recently:
                self._close(runner.room_id).cancel()

    def cancel_all(self) -> None:
        """Cancels the tasks of all rooms; nothing is lost, since the logs hold all commits."""
        for task in self._runner_tasks.values():
            task.cancel()

    def _close_idle(self, rooms: Iterable[RoomId]) -> None:
        """Closes the idle ones of these rooms, except new ones whose place is reserved."""
        now_s = asyncio.get_running_loop().time()
        for room_id in tuple(rooms):
            runner = self._runners.get(room_id)
            is_reserved = self._reserved_until_s.get(room_id, now_s) > now_s
            if runner is not None and runner.is_idle and not is_reserved:
                self._close(room_id).cancel()

    def _close(self, room_id: RoomId) -> "asyncio.Task[None]":
        """Frees the room's place in memory and returns its task, which the caller cancels."""
        self._slots.free(room_id)
        self._reserved_until_s.pop(room_id, None)
        del self._runners[room_id]
        return self._runner_tasks.pop(room_id)

    async def _run(self, runner: RoomRunner) -> None:
        """Runs a room and frees its place at the end."""
        try:
            await runner.run()
        except Exception:
            log.exception("room failed", room=runner.room_id)
        finally:
            if self._runners.get(runner.room_id) is runner:
                self._close(runner.room_id)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(work, name=name)
