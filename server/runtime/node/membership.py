"""The other nodes of the cluster: which are up, which are in doubt, and what the bus may have lost.

The bus only announces events; the store has them. So whenever the bus may have lost messages, or a
node may have died before it published its last commits, this node compares the heads of its open
rooms with the store.
"""

import asyncio
from contextlib import suppress

import structlog

from server.bus.base import (
    AnalysisChanged,
    AnswerSent,
    ConnectionReport,
    Heartbeat,
    LobbyChanged,
    MessagesLost,
    NodeDown,
    NodeMessage,
    NotificationSent,
)
from server.ids import RoomId
from server.ports import Ports
from server.runtime.followers.bus_flow import BusFlow
from server.runtime.node.lobby import Lobby
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.requests import Resync
from server.store.base import StoreError

log = structlog.get_logger()

#: Sweeps between two presence reports of a room.
SWEEPS_PER_REFRESH = 6
#: Time between two comparisons of the heads with the store while the bus is stalled, in seconds.
STALLED_POLL_S = 1.0
#: Time without a message after which a node counts as down, in seconds.
SILENT_NODE_S = 4.0
#: Safety margin, in seconds: after the database's statement timeout and this margin, a node that
#: is down can commit nothing more.
COMMIT_MARGIN_S = 1.0


class Membership:
    """Tracks the other nodes, and compares heads after a gap. `watch_heads` is its task."""

    def __init__(self, ports: Ports, rooms: OpenRooms, lobby: Lobby, flow: BusFlow) -> None:
        self._ports = ports
        self._flow = flow
        self._rooms = rooms
        self._lobby = lobby
        #: The other nodes, and the loop time of the last message from each.
        self._last_message_s: dict[str, float] = {}
        #: The nodes in doubt, which may have committed events that the bus did not deliver, and the
        #: loop time since which each is in doubt.
        self._in_doubt_since_s: dict[str, float] = {}
        #: The loop time of the last NodeDown, after which this node queries due rooms more often.
        self.node_down_s = float("-inf")
        self._sweeps = 0
        #: The rooms whose bus messages may have been lost; None: all rooms.
        self._gap_rooms: set[str] | None = set()
        self._has_gap = asyncio.Event()

    @property
    def node_count(self) -> int:
        """The number of nodes that this node counts as up, itself included."""
        return 1 + len(self._last_message_s)

    # --- messages ---

    def on_node(self, message: NodeMessage) -> None:
        """Handles a message about another node, from that node or from the broker."""
        node = message.node
        if node == self._ports.node or isinstance(
            message, AnalysisChanged | AnswerSent | NotificationSent | ConnectionReport
        ):
            return
        now_s = asyncio.get_running_loop().time()
        if isinstance(message, NodeDown):
            self._forget_node(node)
            self.node_down_s = now_s
            return
        if node not in self._last_message_s:
            for runner in self._rooms:
                runner.followers.publish_presence(asks=True)
                self._lobby.announce(runner)
        self._last_message_s[node] = now_s
        match message:
            case LobbyChanged():
                self._lobby.on_lobby_changed(message)
            case MessagesLost():
                self.on_gap(None)
            case Heartbeat():
                pass

    def on_gap(self, rooms: frozenset[str] | None) -> None:
        """Schedules a comparison of these rooms (None: all) with the store after lost messages."""
        self._gap_rooms = (
            None if rooms is None or self._gap_rooms is None else self._gap_rooms | rooms
        )
        if rooms is None:
            self._flow.restart()
        for runner in self._rooms:
            if rooms is None or runner.room_id in rooms:
                runner.followers.publish_presence(asks=True)
                runner.presence.restart_absences()
        self._has_gap.set()

    # --- nodes that leave ---

    def forget_silent_nodes(self) -> None:
        """Forgets nodes that have been silent for SILENT_NODE_S: a killed one may send no NodeDown.

        While the bus is down, no node counts as silent, nor after a stall of this node, before it
        has read what the others sent meanwhile.
        """
        now_s, clock = asyncio.get_running_loop().time(), self._flow.clock
        clock.now_ms()
        if clock.settling_ms or not self._ports.bus.is_up:
            self._last_message_s = dict.fromkeys(self._last_message_s, now_s)
        for node, last_message_s in tuple(self._last_message_s.items()):
            if last_message_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    async def check_silent_nodes(self) -> frozenset[str]:
        """Marks nodes as in doubt that are alive in the store but silent on the bus; returns those
        that are alive in the store.

        A node stays in doubt at least as long as the database may still run its last statement, and
        then until it sends a message or its heartbeat expires. Raises StoreError when the store
        fails.
        """
        alive = await self._ports.store.nodes.alive_nodes()
        silent = alive - self._last_message_s.keys() - {self._ports.node}
        for node in silent - self._in_doubt_since_s.keys():
            self._doubt(node)
        statement_s = self._ports.settings.database_statement_s
        doubted_before_s = asyncio.get_running_loop().time() - statement_s - COMMIT_MARGIN_S
        for node, since_s in tuple(self._in_doubt_since_s.items()):
            if since_s < doubted_before_s and node not in silent:
                del self._in_doubt_since_s[node]
        self._update_flow()
        return alive

    def refresh_presence(self) -> None:
        """Reports the presence in a sixth of the rooms again, in case the bus lost a report.

        Also asks for reports about the rooms from which a player has gone.
        """
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._rooms):
            for node in runner.followers.reporting_nodes:
                self._last_message_s.setdefault(node, now_s)
            if self._last_message_s:
                runner.presence.ask_for_reports()
            is_its_turn = number % SWEEPS_PER_REFRESH == self._sweeps % SWEEPS_PER_REFRESH
            if self._last_message_s and is_its_turn:
                runner.followers.publish_presence()
                self._lobby.announce(runner)

    def _forget_node(self, node: str) -> None:
        """Forgets a node that is down, and marks it as in doubt."""
        self._last_message_s.pop(node, None)
        for runner in self._rooms:
            runner.followers.on_node_down(node)
        self._lobby.on_node_down(node)
        self._doubt(node)

    def _doubt(self, node: str) -> None:
        """Marks a node as in doubt: it may not have published its last commits on the bus.

        `watch_heads` then compares the heads at once and every STALLED_POLL_S, until
        `check_silent_nodes` unmarks the node.
        """
        log.info("node in doubt", of=node)
        self._in_doubt_since_s[node] = asyncio.get_running_loop().time()
        self._gap_rooms = None
        self._has_gap.set()
        self._update_flow()

    def _update_flow(self) -> None:
        """Interrupts the flow of the bus while a node is in doubt, and tells the rooms."""
        if self._flow.set_interrupted(bool(self._in_doubt_since_s)):
            for runner in self._rooms:
                runner.presence.on_delay()

    # --- comparing heads ---

    async def watch_heads(self) -> None:
        """Compares the heads of rooms with the store, after a gap and periodically.

        The period is `poll_s`. It is STALLED_POLL_S while the bus is down, while a node is in
        doubt, and after the store failed.
        """
        rooms: set[str] | None = None
        while True:
            has_failed = False
            try:
                await self.compare_heads(rooms)
            except StoreError as error:
                log.warning("store unavailable", duty="poll", error=str(error))
                has_failed = True
            rooms = await self._wait_for_gap(has_failed)

    async def compare_heads(self, rooms: set[str] | None = None) -> None:
        """Compares open rooms (None: all) with the store, in case the bus lost events."""
        compared = self._rooms.ids() if rooms is None else rooms & self._rooms.ids()
        heads = await self._ports.store.logs.heads(list(compared))
        for room_id, head in heads.items():
            runner = self._rooms.get(RoomId(room_id))
            if runner is not None and runner.room is not None and runner.room.v < head:
                runner.submit(Resync())

    async def _wait_for_gap(self, has_failed: bool) -> set[str] | None:
        """Waits for a gap or the end of the period. Returns the rooms to compare (None: all)."""
        poll_s = self._ports.settings.poll_s
        may_be_behind = has_failed or bool(self._in_doubt_since_s) or not self._ports.bus.is_up
        with suppress(TimeoutError):
            async with asyncio.timeout(min(poll_s, STALLED_POLL_S) if may_be_behind else poll_s):
                await self._has_gap.wait()
        was_woken = self._has_gap.is_set()
        if not (was_woken or may_be_behind):
            self._ports.metrics.polls += 1
        rooms = self._gap_rooms if was_woken and not has_failed else None
        self._gap_rooms = set()
        self._has_gap.clear()
        return rooms
