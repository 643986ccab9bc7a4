"""Sends what happens in a room to its followers on this node."""

from collections.abc import Sequence

from server.bus.base import Ephemeral
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import HIDDEN_BODY, event_frame, format_message
from server.protocol.frames import text_frame
from server.rooms import views
from server.rooms.model import Room
from server.runtime.board_frames import turn_frame, view_frame
from server.runtime.followers import Followers
from server.runtime.log import Committed
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

    __slots__ = ("_followers", "_ports", "_room_id", "thinking_frame")

    def __init__(self, room_id: str, ports: Ports, followers: Followers) -> None:
        self._room_id = room_id
        self._ports = ports
        self._followers = followers
        #: The last `thinking` frame since the last move, for clients that join later.
        self.thinking_frame = b""

    def send_events(
        self,
        committed: Committed[Room, wire.RoomEvent],
        sender: Follower | None = None,
        command_id: str = "",
    ) -> None:
        """Sends committed events to every follower, and the ack to the sender of the command.

        With a change of the board it also sends the board, and the legal moves to the player to
        move.
        """
        room, events = committed.after, committed.events
        has_board_change = changes_board(events)
        if changes_seats(events):
            self._followers.on_seats_changed(room)
        entries = [entry.stored for entry in committed.entries]
        board = view_frame(room) if has_board_change else b""
        frames = {
            is_player: self._event_frames(entries, is_player) + board
            for is_player in {is_player for _, is_player in self._followers}
        }
        moves, player_to_move = turn_frame(room) if has_board_change else (b"", None)
        ack = text_frame(format_message(wire.Ack(command_id, room.v))) if sender else b""
        for follower, is_player in self._followers:
            data = frames[is_player]
            if player_to_move is not None and follower.identity == player_to_move:
                data += moves
            if follower is sender:
                ack += data
            else:
                follower.send(data)
        if sender is not None:
            self._ports.reached("before_ack")
            sender.send(ack)
        if has_board_change:
            self.thinking_frame = b""

    def send_joined(
        self, join: wire.Join, follower: Follower, room: Room, missed: list[StoredEvent] | None
    ) -> None:
        """Adds a follower and sends it the events that it missed, or a snapshot (None)."""
        seat = room.seat_of(follower.identity)
        is_player = seat is not None
        joined = wire.Joined(
            room=room.id, v=room.v, epoch=self._ports.store.epoch,
            description=views.description(room), seat=seat, frozen=room.frozen,
        )  # fmt: skip
        moves, player_to_move = turn_frame(room)
        parts = [
            text_frame(format_message(wire.Ack(join.id, None))),
            text_frame(format_message(joined)),
            text_frame(format_message(views.snapshot(room, is_player))) if missed is None else b"",
            self._event_frames(missed or [], is_player),
            view_frame(room),
            moves if player_to_move == follower.identity else b"",
            self.thinking_frame,
        ]
        self._followers.add(follower, is_player)
        follower.send(b"".join(parts) + self._followers.presence_at_join(follower, room))
        self._followers.schedule_presence()

    def send_ephemeral(self, frame: bytes) -> None:
        """Sends a frame to the followers on all nodes, and keeps it for clients that join later."""
        self.receive_ephemeral(frame)
        self._ports.bus.publish(Ephemeral(self._room_id, self._ports.node, frame))

    def receive_ephemeral(self, frame: bytes) -> None:
        """Sends another node's frame to the followers, and keeps it for clients that join later."""
        self.thinking_frame = frame
        self._followers.send_ephemeral_to_all(frame)

    def _event_frames(self, events: Sequence[StoredEvent], is_player: bool) -> bytes:
        """Returns the events as frames for players or for spectators."""
        return b"".join(
            text_frame(
                event_frame(
                    self._room_id, event.v, event.at_ms,
                    HIDDEN_BODY if is_player and event.audience == SPECTATORS else event.body,
                )
            )
            for event in events
        )  # fmt: skip
