"""The followers of a room: the connections on this node, and those that other nodes report."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from server.bus.base import PageClosed, PresenceReport
from server.ids import IdentityId, RoomId
from server.ports import Follower, Ports
from server.rooms.model import Room


class Followers:
    """The followers of a room on this node, merged with the reports of the other nodes.

    `on_change` is called when a follower has come or gone, on any node.
    """

    __slots__ = ("_followers", "_on_change", "_ports", "_remote_reports", "_room_id", "left_ms")

    def __init__(self, room_id: RoomId, ports: Ports, on_change: Callable[[], None]) -> None:
        self._room_id = room_id
        self._ports = ports
        self._on_change = on_change
        #: The followers on this node, and whether each is a player.
        self._followers: dict[Follower, bool] = {}
        self._remote_reports: dict[str, PresenceReport] = {}
        #: The time at which the last follower left, in ms of `Ports.uptime_ms`; None before that,
        #: and if there was none.
        self.left_ms: int | None = None

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[Follower, bool]]:
        """Iterates over the followers on this node, each with whether it is a player: it holds a
        seat, or an AI keeps one for it.

        Followers may be added and removed during the iteration.
        """
        return iter(tuple(self._followers.items()))

    def __contains__(self, follower: Follower) -> bool:
        """Whether a connection of this node follows the room."""
        return follower in self._followers

    @property
    def has_player(self) -> bool:
        """Whether a player follows the room on this node."""
        return any(self._followers.values())

    def is_elsewhere(self, identity: str) -> bool:
        """Whether a player has a connection to the room on another node."""
        return any(identity in report.identities for report in self._remote_reports.values())

    @property
    def watching(self) -> int:
        """The number of followers who are no players, on all nodes."""
        return self._local_spectators() + sum(
            report.watching for report in self._remote_reports.values()
        )

    @property
    def are_elsewhere(self) -> bool:
        """Whether all followers are on other nodes, and there are some."""
        reports = self._remote_reports.values()
        return not self._followers and any(each.identities or each.watching for each in reports)

    @property
    def reporting_nodes(self) -> Iterable[str]:
        """The other nodes that have reported presence."""
        return self._remote_reports

    def identities(self) -> set[str]:
        """Returns the identities on this node, and those of players on the other nodes."""
        remote = (report.identities for report in self._remote_reports.values())
        return {str(follower.identity) for follower in self._followers}.union(*remote)

    def has_identity(self, identity: IdentityId) -> bool:
        """Whether a player has a connection to the room, on any node."""
        reports = self._remote_reports.values()
        return any(follower.identity == identity for follower in self._followers) or any(
            identity in report.identities for report in reports
        )

    # --- changes ---

    def add(self, follower: Follower, is_player: bool) -> None:
        """Adds a follower. `report` must be called then."""
        self._followers[follower] = is_player

    def remove(self, follower: Follower) -> bool:
        """Removes a follower. Returns False if the connection did not follow the room."""
        if self._followers.pop(follower, None) is None:
            return False
        self.report()
        return True

    def on_seats_changed(self, room: Room) -> None:
        """Updates which followers are players."""
        for follower in self._followers:
            self._followers[follower] = room.has_player(follower.identity)
        self.report()

    def report(self) -> None:
        """Reports the followers to the other nodes, and the change to this one."""
        self._publish_report()
        self._on_changed()

    def receive_report(self, report: PresenceReport) -> None:
        """Stores another node's report, and replies with one if that node is new or asks for it."""
        is_new = report.node not in self._remote_reports
        self._remote_reports[report.node] = report
        if is_new or report.asks:
            self._publish_report()
        self._on_changed()

    def receive_page_closed(self, message: PageClosed) -> None:
        """Removes a player who has closed the page from another node's report."""
        report = self._remote_reports.get(message.node)
        if report is not None and message.identity in report.identities:
            identities = report.identities - {message.identity}
            self._remote_reports[message.node] = replace(report, identities=identities)
        self._on_changed()

    def on_node_down(self, node: str) -> None:
        """Drops the report of a node that is down."""
        if self._remote_reports.pop(node, None) is not None:
            self._on_changed()

    def _on_changed(self) -> None:
        if not (self._followers or self.are_elsewhere):
            self.left_ms = self._ports.uptime_ms()
        self._on_change()

    # --- sending ---

    def publish_presence(self, asks: bool = False) -> None:
        """Reports this node's followers to the other nodes again, in case they missed a report.

        `asks` asks them for their reports.
        """
        if self._followers:
            self._publish_report(asks)

    def _local_spectators(self) -> int:
        return sum(not is_player for is_player in self._followers.values())

    def _publish_report(self, asks: bool = False) -> None:
        seated = frozenset(
            follower.identity for follower, is_player in self._followers.items() if is_player
        )
        self._ports.bus.publish(
            PresenceReport(self._room_id, self._ports.node, seated, self._local_spectators(), asks)
        )
