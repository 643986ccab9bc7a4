"""The other nodes of the cluster: which are up, which are in doubt, and what the bus may have lost.

The bus only announces events; the store has them. So whenever the bus may have lost messages, or a
node may have gone without announcing its last commits, the heads of the open rooms are compared
with the store.
"""

import asyncio
from contextlib import suppress

import structlog

from server.bus.base import Heartbeat, LobbyChanged, MessagesLost, NodeDown, NodeMessage
from server.ids import RoomId
from server.ports import Ports
from server.runtime.lobby import Lobby
from server.runtime.open_rooms import OpenRooms
from server.runtime.requests import Resync
from server.store.base import StoreError

log = structlog.get_logger()

#: Sweeps between two presence reports of a room.
SWEEPS_PER_REFRESH = 6
#: Time between two comparisons of the heads with the store while the bus is stalled, in seconds.
STALLED_POLL_S = 1.0
#: Silence after which a node counts as down, in seconds.
SILENT_NODE_S = 4.0
#: Safety margin, in seconds: after the database's statement timeout and this margin, a node that
#: is down can commit nothing more.
COMMIT_MARGIN_S = 1.0


class Membership:
    """What this node knows of the others. `watch_heads` is its task."""

    def __init__(self, ports: Ports, rooms: OpenRooms, lobby: Lobby) -> None:
        self._ports = ports
        self._rooms = rooms
        self._lobby = lobby
        #: The other nodes, and the loop time of the last message from each.
        self._last_heard_s: dict[str, float] = {}
        #: Nodes in doubt, which may commit events that the bus does not deliver, and the loop time
        #: since which they are in doubt.
        self._doubted_since_s: dict[str, float] = {}
        #: The loop time of the last NodeDown, after which rooms fall due for a while.
        self.node_down_s = float("-inf")
        self._sweeps = 0
        #: The rooms whose bus messages may have been lost; None: all rooms.
        self._gap_rooms: set[str] | None = set()
        self._gap_noticed = asyncio.Event()

    @property
    def node_count(self) -> int:
        """The number of nodes that are up, as far as this node knows; it is one of them."""
        return 1 + len(self._last_heard_s)

    # --- messages ---

    def on_node(self, message: NodeMessage) -> None:
        """Handles a message about another node, from that node or from the broker."""
        node = message.node
        if node == self._ports.node:
            return
        now_s = asyncio.get_running_loop().time()
        if isinstance(message, NodeDown):
            self._forget_node(node)
            self.node_down_s = now_s
            return
        if node not in self._last_heard_s:
            for runner in self._rooms:
                runner.followers.publish_presence(asks=True)
        self._last_heard_s[node] = now_s
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
        for runner in self._rooms:
            if rooms is None or runner.room_id in rooms:
                runner.followers.publish_presence(asks=True)
        self._gap_noticed.set()

    # --- nodes that go ---

    def forget_silent_nodes(self) -> None:
        """Forgets nodes that are silent for SILENT_NODE_S: a killed node may send no NodeDown.

        While the bus is down, no node counts as silent.
        """
        now_s = asyncio.get_running_loop().time()
        if not self._ports.bus.is_up:
            self._last_heard_s = dict.fromkeys(self._last_heard_s, now_s)
        for node, last_heard_s in tuple(self._last_heard_s.items()):
            if last_heard_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    async def check_silent_nodes(self) -> None:
        """Marks nodes in doubt that are alive in the store but silent on the bus; ends old doubts.

        A node stays in doubt at least as long as the database may still run its last statement. The
        doubt then ends once the node sends a message or its heartbeat has expired. Raises
        StoreError when the store fails.
        """
        alive = await self._ports.store.nodes.alive_nodes()
        silent = alive - self._last_heard_s.keys() - {self._ports.node}
        for node in silent - self._doubted_since_s.keys():
            self._doubt(node)
        statement_s = self._ports.settings.database_statement_s
        before_s = asyncio.get_running_loop().time() - statement_s - COMMIT_MARGIN_S
        for node, since_s in tuple(self._doubted_since_s.items()):
            if since_s < before_s and node not in silent:
                del self._doubted_since_s[node]

    def refresh_presence(self) -> None:
        """Reports the presence in every sixth room again, in case the bus lost a report."""
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._rooms):
            for node in runner.followers.reporting_nodes:
                self._last_heard_s.setdefault(node, now_s)
            is_its_turn = number % SWEEPS_PER_REFRESH == self._sweeps % SWEEPS_PER_REFRESH
            if self._last_heard_s and is_its_turn:
                runner.followers.publish_presence()

    def _forget_node(self, node: str) -> None:
        """Forgets a node that is down, and marks it as in doubt."""
        self._last_heard_s.pop(node, None)
        for runner in self._rooms:
            runner.followers.on_node_down(node)
        self._doubt(node)

    def _doubt(self, node: str) -> None:
        """Marks a node as in doubt: it may not have published its last commits on the bus.

        The heads are compared at once and then every second, until the node can commit nothing more
        or sends a message again.
        """
        log.info("node in doubt", of=node)
        self._doubted_since_s[node] = asyncio.get_running_loop().time()
        self._gap_rooms = None
        self._gap_noticed.set()

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
        is_unsure = has_failed or bool(self._doubted_since_s) or not self._ports.bus.is_up
        with suppress(TimeoutError):
            async with asyncio.timeout(min(poll_s, STALLED_POLL_S) if is_unsure else poll_s):
                await self._gap_noticed.wait()
        was_woken = self._gap_noticed.is_set()
        if not (was_woken or is_unsure):
            self._ports.metrics.polls += 1
        rooms = self._gap_rooms if was_woken and not has_failed else None
        self._gap_rooms = set()
        self._gap_noticed.clear()
        return rooms
