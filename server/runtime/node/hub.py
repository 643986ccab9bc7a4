"""The rooms of one node, as connections and the other parts of the server use them."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

import structlog

from server.codes import Code
from server.commands import Command, Create, Move, Rename, Sit
from server.ids import IdentityId, RoomId
from server.limits.by_address import LimitExceeded, Limits
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.rooms.model import SERVER, Actor, ActorKind
from server.runtime.followers.bus_flow import BusFlow
from server.runtime.followers.connections import Connections
from server.runtime.followers.listening import ListeningClock
from server.runtime.log import Outcome
from server.runtime.node.creation import RoomCreator
from server.runtime.node.lobby import Lobby
from server.runtime.node.membership import Membership
from server.runtime.node.notifications import Notifications
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.observers import Observers, engine_observer, metrics_observer
from server.runtime.projections import is_listed
from server.runtime.requests import Outage, Request, Review, refuse
from server.runtime.room.expiry import Expiry
from server.runtime.room.room_runner import RoomRunner
from server.runtime.timer import WAKE_AHEAD_S
from server.store.base import DUE_PAGE, DueRoom, Rescheduled, RoomVersion, StoreError

log = structlog.get_logger()

#: Longest round trip to the store that is used to estimate its clock, in ms.
MAX_ROUND_TRIP_MS = 200
#: Maximum number of released rooms that a node remembers.
MAX_RELEASED = 1000
#: Maximum number of running matches whose rooms a rename opens. The others follow when the player
#: joins them.
MAX_RENAMED_MATCHES = 20
#: Time between two records of a room that has followers, in ms.
ATTENDANCE_MS = 4 * 60_000
#: Maximum number of matches whose players, winners and clocks one step fills in.
FILLED_PAGE = 500


class Hub:
    """The rooms of this node. `open_hub` (`duties`) opens one and runs its duties."""

    def __init__(self, ports: Ports, tasks: asyncio.TaskGroup) -> None:
        self.ports = ports
        self.limits = Limits(ports.settings)
        self.lobby = Lobby(ports, self.runner)
        self.connections = Connections(ports)
        self.notifications = Notifications(ports, self.connections, self.runner)
        self.observers = Observers()
        for observer in (
            self.lobby.on_commit, self.notifications.on_commit, engine_observer(ports.engines),
            metrics_observer(ports.metrics),
        ):  # fmt: skip
            self.observers.subscribe(observer)
        #: The time in which this node could hear its players.
        self.listening = ListeningClock(ports.uptime_ms)
        flow = BusFlow(ports.bus, self.listening)
        self.rooms = OpenRooms(
            ports,
            tasks,
            self.limits,
            self.observers,
            flow,
            self.connections,
            self.lobby.on_room_changed,
        )
        self.membership = Membership(ports, self.rooms, self.lobby, flow)
        self.creator = RoomCreator(ports, self.rooms, self.limits)
        self._expiry = Expiry(ports)
        #: The listed rooms with followers on this node, and the time of each one's last record.
        self._attended_ms: dict[RoomId, int] = {}
        #: The versions of the rooms that this node has released: it does not take them over again.
        self._released: dict[RoomVersion, None] = {}
        #: The latest time of day seen by this node, in ms since 1970.
        self._latest_ms = 0
        #: How far this node's clock is ahead of the store's, in ms; negative when it is behind.
        self.clock_ahead_ms = 0

    def __len__(self) -> int:
        """The number of rooms in memory."""
        return len(self.rooms)

    def runner(self, room_id: RoomId) -> RoomRunner | None:
        """Returns the room's runner, or None if the room is not open on this node."""
        return self.rooms.get(room_id)

    # --- commands ---

    def submit(self, room_id: RoomId, request: Request) -> bool:
        """Puts a request into the mailbox of its room, whose runner answers it.

        Returns False when the hub refused it at once.
        """
        try:
            self._take_tokens(room_id, request)
            runner = self.rooms.open(room_id, request.address)
        except LimitExceeded as limit:
            refuse(request, limit.code, limit.message)
            return False
        if not runner.submit(request):
            refuse(
                request,
                Code.ROOM_BUSY,
                "too many commands are waiting for this room; send it again",
            )
            return False
        return True

    def _take_tokens(self, room_id: RoomId, request: Request) -> None:
        """Takes the tokens of a person's command or join. Raises LimitExceeded if there are none.

        It precedes the opening of the room, which reads a log.
        """
        command = request.command
        if request.actor.kind is not ActorKind.PERSON or isinstance(command, wire.Leave):
            return
        identity, address = request.actor.identity, request.address
        now_s = self.ports.uptime_ms() / 1000
        if isinstance(command, wire.Join):
            self.limits.joins.take(identity, address, now_s)
            return
        if type(command) is Sit:  # first, so that a refused one takes no token of the room
            self.limits.sits.take(identity, address, room_id, now_s)
        # The room's runner charges the address if the move is refused.
        paying = "" if type(command) is Move else address
        self.limits.commands.take(identity, paying, room_id, now_s)

    async def command(
        self, room_id: RoomId, actor: Actor, command: Command, received_ms: int | None = None
    ) -> Outcome:
        """Gives a room a command without a connection, and returns its outcome.

        A command that is given again with the same identity and id has the same outcome. The
        outcome STORE_RETRY means that the command may or may not be committed: give it again.
        """
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def resolve(result: Outcome) -> None:
            if not outcome.done():
                outcome.set_result(result)

        at_ms = self.ports.now_ms() if received_ms is None else received_ms
        self.submit(room_id, Request(actor, command, received_ms=at_ms, on_outcome=resolve))
        return await outcome

    async def create(self, actor: Actor, command: Create, address: str = "") -> wire.Ack:
        """Creates a room, once for each identity and command id.

        Raises CommandRejected or StoreError when it creates no room.
        """
        ack, room = await self.creator.create(actor, command, address)
        if room is not None:
            self.lobby.on_room_changed(room.id)
            if room.needs_search:
                self.ports.engines.expect(room.game_id)
        return ack

    async def rename(self, identity: IdentityId, address: str) -> None:
        """Gives the seats of an identity its name in the store: in the rooms of this node, and in
        those of the identity's running matches, which it opens for the address.

        A room for which memory has no place, or one that the store cannot name now, follows when
        the player joins it.
        """
        store = self.ports.store
        try:
            matches = await store.projections.player_matches(identity, MAX_RENAMED_MATCHES, 0)
            player = await store.identities.find(identity)
        except StoreError as error:
            log.warning("store unavailable", duty="rename", error=str(error))
            return
        if player is None:
            return
        room_ids = {
            runner.room_id
            for runner in self.rooms
            if runner.room is not None
            and runner.room.player_name(identity) not in (None, player.name)
        }
        room_ids.update(match.room for match in matches)
        for room_id in sorted(room_ids):
            try:
                runner = self.rooms.open(room_id, address)
            except LimitExceeded:
                continue
            rename = Rename(f"rename:{self.ports.new_id()}", identity, player.name)
            runner.submit(Request(SERVER, rename))

    def forget(self, follower: Follower, rooms: set[RoomId], has_closed_page: bool = False) -> None:
        """Removes a closed connection from these rooms, from the lobby and from the list of
        connections.

        `has_closed_page` says that it ended because the person closed the page.
        """
        self.lobby.leave(follower)
        self.connections.disconnect(follower)
        for room_id in rooms:
            if runner := self.rooms.get(room_id):
                runner.forget(follower, has_closed_page)
                self.rooms.end_reservation(room_id)

    def on_game_refused(self, game_id: str) -> None:
        """Freezes the open rooms of a game of which a rule has hung: this process calls no rule of
        it again. Rooms that are opened later are frozen as they load.
        """
        self.ports.metrics.faults += 1
        for runner in self.rooms:
            if runner.room is not None and runner.room.game_id == game_id:
                runner.submit(Review())

    # --- single steps of the duties ---

    def close_idle_rooms(self, after_s: float) -> None:
        """Closes the rooms that have been idle for `after_s` seconds."""
        self.rooms.close_idle(after_s)

    async def write_heartbeat(self) -> None:
        """Writes this node's heartbeat and compares its clock with the store's."""
        if self.ports.follow_clock(False) and not await self._has_running_clock():
            self.ports.follow_clock(True)
        before_ms = self.ports.now_ms()
        store_ms = await self.ports.store.nodes.heartbeat(
            self.ports.node, int(3000 * self.ports.settings.heartbeat_s), before_ms
        )
        after_ms = self.ports.now_ms()
        if after_ms - before_ms <= MAX_ROUND_TRIP_MS:  # a slow round trip is a poor estimate
            self.clock_ahead_ms = (before_ms + after_ms) // 2 - store_ms

    async def _has_running_clock(self) -> bool:
        """Whether a player's clock is running on this node, in a room in memory or not; also when
        the store does not say.
        """
        if any(runner.is_timed for runner in self.rooms):
            return True
        try:
            return await self.ports.store.nodes.has_due_clock(self.ports.node)
        except StoreError:
            return True

    async def take_over_due_rooms(self, all_nodes: bool) -> int:
        """Takes over a page of the rooms of dead or of all nodes that are due within WAKE_AHEAD_S.

        Returns the number of these rooms, 0 when none is left.
        """
        node, before_ms = self.ports.node, self._wake_before_ms()
        rooms = await self.ports.store.nodes.take_over_due_rooms(
            before_ms, node, all_nodes, except_for=tuple(self._released)
        )
        for taken in rooms:
            self._wake(taken.room, taken.earlier_node)
        return len(rooms)

    def hold_clocks(self, alive: Collection[str]) -> None:
        """Lets the clocks of open rooms stand whose responsible node is not alive."""
        for runner in self.rooms:
            node = runner.timed_by
            if node and node not in alive:
                runner.submit(Outage(node))

    async def wake_due_rooms(self) -> None:
        """Wakes this node's rooms that are due within WAKE_AHEAD_S, opening those not in memory.

        It wakes them in the order of their deadlines; each then waits for its own deadline. The
        store gets the true time of a room in which nothing is due yet. It releases the rooms that
        this node cannot play, so that another node can take them over.
        """
        before_ms = self._wake_before_ms()
        after: DueRoom | None = None
        while True:
            page = await self.ports.store.nodes.own_due_rooms(self.ports.node, before_ms, after)
            unplayable: list[RoomVersion] = []
            postponed: list[Rescheduled] = []
            for due in page:
                if version := self._wake(due.room):
                    unplayable.append(version)
                elif (runner := self.rooms.get(due.room)) is not None:
                    later = runner.postponed(before_ms)
                    postponed += [] if later is None else [later]
            await self._release(unplayable)
            if postponed:
                await self.ports.store.nodes.reschedule(self.ports.node, postponed)
            if len(page) < DUE_PAGE:
                return
            after = page[-1]

    def _wake_before_ms(self) -> int:
        """Returns the time before which a room must be due to be woken now. It never decreases."""
        self._latest_ms = max(self._latest_ms, self.ports.now_ms())
        return self._latest_ms + int(WAKE_AHEAD_S * 1000)

    def _wake(self, room_id: RoomId, earlier_node: str | None = None) -> RoomVersion | None:
        """Opens and wakes a room that is due; does nothing if no place in memory is free.

        `earlier_node` is that from which this one has taken it over. Returns the room's version
        if this node cannot play it.
        """
        with suppress(LimitExceeded):
            return self.rooms.open(room_id, "").wake(earlier_node)
        return None

    async def _release(self, rooms: Sequence[RoomVersion]) -> None:
        """Releases rooms that this node cannot play, and remembers the latest MAX_RELEASED."""
        if rooms:
            self._released |= dict.fromkeys(rooms)
            self._released = dict(list(self._released.items())[-MAX_RELEASED:])
            await self.ports.store.nodes.release_rooms(self.ports.node, rooms)

    async def record_attendance(self) -> None:
        """Records in the store which listed rooms people are in, so that abandoned ones leave the
        lobby. After a failure of the store the next call repeats it.

        The store keeps one time for each room. A node moves it when the last of its followers
        leaves and every ATTENDANCE_MS before that, never for a move. So the lobby of any node, also
        after a restart, lists the rooms that people were in lately.
        """
        now_ms = self.ports.now_ms()
        followed = {
            runner.room_id: runner.room.created_ms
            for runner in self.rooms
            if len(runner.followers) and runner.room is not None and is_listed(runner.room)
        }
        left = self._attended_ms.keys() - followed.keys()
        due = {
            room_id
            for room_id, created_ms in followed.items()
            if now_ms - self._attended_ms.setdefault(room_id, created_ms) >= ATTENDANCE_MS
        }
        if not (left or due):
            return
        try:
            await self.ports.store.projections.mark_rooms_followed(sorted(left | due), now_ms)
        except StoreError as error:
            log.warning("store unavailable", duty="attendance", error=str(error))
            return
        for room_id in left:
            del self._attended_ms[room_id]
        self._attended_ms.update(dict.fromkeys(due, now_ms))

    async def expire_once(self) -> None:
        """Scans one page of guests and rooms, and fills in the players, winners and clocks of an
        older program's matches. Raises StoreError when the store fails.
        """
        rooms_without_match = [
            runner.room_id
            for runner in self.rooms
            if runner.room is not None and runner.room.match is None
        ]
        self.lobby.remove_rooms(
            await self._expiry.run_step(rooms_without_match, self.clock_ahead_ms)
        )
        await self.ports.store.projections.fill_players(FILLED_PAGE)
        await self.ports.store.projections.fill_winners(FILLED_PAGE)
        await self.ports.store.projections.fill_clocks(FILLED_PAGE)
