"""The connections of people to this server, on whatever page: who is not in a room may be near."""

from collections.abc import Callable, Iterable

from server.bus.base import CONNECTION_BATCH, ConnectionReport, NodeMessage
from server.ids import IdentityId
from server.ports import Follower, Ports


class Connections:
    """The connections of this node by identity, and the people of whom other nodes say that they
    are connected there.

    A room in which a player is *seeks* the other player, who has no connection to it; it is called
    when that one comes to the server or goes. Only the sought are asked for on the other nodes: at
    once and with every sweep. What they answer is a hint for people to read, and no rule depends on
    it: a connection on another node may be reported for two sweeps after its end.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._connections: dict[IdentityId, list[Follower]] = {}
        #: For each sought person, what to call when they come or go; one entry for each room.
        self._sought: dict[IdentityId, list[Callable[[], None]]] = {}
        #: The sought people whom another node has reported, and those since the last sweep.
        self._elsewhere: set[str] = set()
        self._reported: set[str] = set()

    def connect(self, follower: Follower) -> None:
        """Adds a connection whose identity is known."""
        connections = self._connections.setdefault(follower.identity, [])
        connections.append(follower)
        if len(connections) == 1:
            self._tell(follower.identity)

    def disconnect(self, follower: Follower) -> None:
        """Removes a connection; does nothing if it was not added."""
        connections = self._connections.get(follower.identity, [])
        if follower in connections:
            connections.remove(follower)
            if not connections:
                del self._connections[follower.identity]
                self._tell(follower.identity)

    def of(self, identity: str) -> tuple[Follower, ...]:
        """The connections of a person to this node."""
        return tuple(self._connections.get(IdentityId(identity), ()))

    def has(self, identity: str) -> bool:
        """Whether a person has a connection to this node, or a sought one to another node."""
        return identity in self._connections or identity in self._elsewhere

    # --- the people whom rooms seek

    def seek(self, identities: Iterable[str], call: Callable[[], None]) -> None:
        """Calls `call` from now on when one of these people comes to the server or goes."""
        new: list[str] = []
        for identity in map(IdentityId, identities):
            if identity not in self._sought:
                new.append(identity)
            self._sought.setdefault(identity, []).append(call)
        self._ask(new)

    def give_up(self, identities: Iterable[str], call: Callable[[], None]) -> None:
        """Ends `seek` for these people and this callback."""
        for identity in map(IdentityId, identities):
            self._sought[identity].remove(call)
            if not self._sought[identity]:
                del self._sought[identity]
                self._elsewhere.discard(identity)
                self._reported.discard(identity)

    def sweep(self) -> None:
        """Asks the other nodes again, and forgets whom none of them has reported since the last
        sweep.
        """
        lost, self._elsewhere = self._elsewhere - self._reported, set(self._reported)
        self._reported = set()
        for identity in lost:
            self._tell(identity)
        self._ask(list(self._sought))

    def on_message(self, message: NodeMessage) -> None:
        """Answers another node's question, or notes its answer."""
        if not isinstance(message, ConnectionReport) or message.node == self._ports.node:
            return
        if message.asks:
            if here := message.identities & self._connections.keys():
                self._ports.bus.publish(ConnectionReport(self._ports.node, frozenset(here)))
            return
        sought = message.identities & self._sought.keys()
        new = sought - self._elsewhere
        self._elsewhere |= sought
        self._reported |= sought
        for identity in new:
            self._tell(identity)

    def _ask(self, identities: list[str]) -> None:
        if self._ports.settings.is_sole_node:
            return
        for start in range(0, len(identities), CONNECTION_BATCH):
            asked = frozenset(identities[start : start + CONNECTION_BATCH])
            self._ports.bus.publish(ConnectionReport(self._ports.node, asked, asks=True))

    def _tell(self, identity: str) -> None:
        for call in tuple(self._sought.get(IdentityId(identity), ())):
            call()
