"""Sends what happens in a room to its followers on this node."""

from collections.abc import Callable, Sequence

from server.bus.base import Ephemeral
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import HIDDEN_BODY
from server.protocol.outbound import LoggedEvent, Outbound
from server.rooms import views
from server.rooms.model import Room
from server.runtime.board_messages import turn_message, view_message
from server.runtime.followers import Followers
from server.runtime.log import Committed
from server.runtime.permission_feed import PermissionFeed
from server.store.base import SPECTATORS, StoredEvent

#: Events that change the board.
BOARD_EVENTS = (wire.Moved, wire.Started, wire.Finished)
#: Events that change who holds a seat.
SEAT_EVENTS = (wire.SeatTaken, wire.SeatLeft, wire.Started)


def changes_board(events: Sequence[wire.RoomEvent]) -> bool:
    """Returns whether one of the events changes the board."""
    return any(isinstance(event, BOARD_EVENTS) for event in events)


def changes_seats(events: Sequence[wire.RoomEvent]) -> bool:
    """Returns whether one of the events changes who holds a seat."""
    return any(isinstance(event, SEAT_EVENTS) for event in events)


class Feed:
    """The messages of one room to its followers on this node."""

    __slots__ = ("_followers", "_permissions", "_ports", "_room_id", "thinking")

    def __init__(
        self,
        room_id: str,
        ports: Ports,
        followers: Followers,
        get_room: Callable[[], Room | None],
    ) -> None:
        self._room_id = room_id
        self._ports = ports
        self._followers = followers
        self._permissions = PermissionFeed(ports, followers, get_room)
        #: The last `thinking` message since the last move, for clients that join later.
        self.thinking: wire.Thinking | None = None

    def send_events(
        self,
        committed: Committed[Room, wire.RoomEvent],
        sender: Follower | None = None,
        command_id: str = "",
    ) -> None:
        """Sends committed events to every follower, and the ack to the sender of the command.

        With a change of the board it also sends the board, and the legal moves to the player to
        move; to those who may now do something else, what they may do.
        """
        room, events = committed.after, committed.events
        has_board_change = changes_board(events)
        if changes_seats(events):
            self._followers.on_seats_changed(room)
        entries = [entry.stored for entry in committed.entries]
        board = view_message(room) if has_board_change else None
        after = [Outbound(board)] if board is not None else []
        messages = {
            is_player: [*self._event_messages(entries, is_player), *after]
            for is_player in {is_player for _, is_player in self._followers}
        }
        turn, player_to_move = turn_message(room) if has_board_change else (None, None)
        moves = [Outbound(turn)] if turn is not None else []
        permitted = self._permissions.after_events(committed.before, room)
        to_sender = [Outbound(wire.Ack(command_id, room.v))]
        for follower, is_player in self._followers:
            received = messages[is_player]
            if permitted and follower in permitted:
                received = [*received[: len(entries)], permitted[follower], *after]
            if player_to_move is not None and follower.identity == player_to_move:
                received = received + moves
            if follower is sender:
                to_sender += received
            else:
                follower.send(*received)
        if sender is not None:
            self._ports.reached("before_ack")
            sender.send(*to_sender)
        if has_board_change:
            self.thinking = None

    def send_joined(
        self, join: wire.Join, follower: Follower, room: Room, missed: list[StoredEvent] | None
    ) -> None:
        """Adds a follower and sends it the events that it missed, or a snapshot (None)."""
        seat = room.seat_of(follower.identity)
        is_player = seat is not None
        joined = wire.Joined(
            room=room.id, v=room.v, epoch=self._ports.store.epoch,
            description=views.description(room), seat=seat, frozen=room.frozen,
            may=self._permissions.at_join(follower, room),
        )  # fmt: skip
        turn, player_to_move = turn_message(room)
        self._followers.add(follower, is_player)
        parts: list[wire.Outgoing | None] = [
            wire.Ack(join.id, None),
            joined,
            views.snapshot(room, is_player) if missed is None else None,
        ]
        ending = [
            view_message(room),
            turn if player_to_move == follower.identity else None,
            self.thinking,
            self._followers.presence_at_join(follower, room),
        ]
        follower.send(
            *_outbound(parts), *self._event_messages(missed or [], is_player), *_outbound(ending)
        )
        self._followers.schedule_presence()

    def forget(self, follower: Follower) -> None:
        """Forgets what a follower that has left was sent."""
        self._permissions.forget(follower)

    def close(self) -> None:
        """Stops what would send something later."""
        self._permissions.close()

    def send_thinking(self, thinking: wire.Thinking) -> None:
        """Sends it to the followers on all nodes, and keeps it for clients that join later."""
        self.receive_thinking(thinking)
        self._ports.bus.publish(Ephemeral(self._room_id, self._ports.node, thinking))

    def receive_thinking(self, thinking: wire.Thinking) -> None:
        """Sends it to the followers on this node, and keeps it for clients that join later."""
        self.thinking = thinking
        self._followers.send_ephemeral_to_all(Outbound(thinking))

    def _event_messages(self, events: Sequence[StoredEvent], is_player: bool) -> list[Outbound]:
        """Returns the events for players or for spectators."""
        return [
            Outbound(
                LoggedEvent(
                    self._room_id, event.v, event.at_ms,
                    HIDDEN_BODY if is_player and event.audience == SPECTATORS else event.body,
                )
            )
            for event in events
        ]  # fmt: skip


def _outbound(messages: Sequence[wire.Outgoing | None]) -> list[Outbound]:
    return [Outbound(message) for message in messages if message is not None]
