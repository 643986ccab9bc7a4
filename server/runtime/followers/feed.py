"""Sends the events and the other messages of a room to its followers on this node."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from engine.game import GameFault
from engine.rules.errors import GameHung
from server.bus.base import Ephemeral
from server.events import Said, parse_event_body
from server.ids import RoomId
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol import views
from server.protocol.codec import HIDDEN_BODY
from server.protocol.outbound import Batch, LoggedEvent, Outbound
from server.rooms.model import Room
from server.rooms.permissions import leaves_permissions_unchanged
from server.runtime.followers.permission_feed import PermissionFeed
from server.runtime.followers.presence import Presence
from server.runtime.followers.thinking_feed import ThinkingFeed
from server.runtime.observers import RoomCommit, changes_board, changes_game, changes_seats
from server.store.base import AUTHOR, EVERYONE, SPECTATORS, StoredEvent

log = structlog.get_logger()


class Feed:
    """Sends the messages of one room to its followers on this node."""

    __slots__ = ("_followers", "_permissions", "_ports", "_presence", "_room_id", "_thinking")

    def __init__(
        self,
        room_id: RoomId,
        ports: Ports,
        presence: Presence,
        permissions: PermissionFeed,
        get_room: Callable[[], Room | None],
    ) -> None:
        self._room_id = room_id
        self._ports = ports
        self._presence = presence
        self._followers = presence.followers
        self._permissions = permissions
        self._thinking = ThinkingFeed(presence.followers, get_room)

    @property
    def thinking(self) -> wire.Thinking | None:
        """The latest `thinking` message of the current turn."""
        return self._thinking.latest

    @property
    def has_followers(self) -> bool:
        """Whether anyone follows the room, on any node."""
        return bool(len(self._followers)) or self._followers.are_elsewhere

    def send_events(
        self,
        committed: RoomCommit,
        sender: Follower | None = None,
        command_id: str = "",
    ) -> None:
        """Sends committed events to every follower, and the ack to the sender of the command.

        If the board has changed, every follower also receives the board, and the player to move the
        legal moves. Followers whose permissions have changed receive the new list. After the start
        of a match of another game, everyone receives `joined` again, before the board.
        """
        room, events = committed.after, committed.events
        has_board_change = changes_board(events)
        if self._presence.absences:
            self._presence.absences.on_events(room, events)
        if changes_seats(events):
            self._followers.on_seats_changed(room)
        board = view_message(room) if has_board_change else None
        board_messages = [Outbound(board)] if board is not None else []
        messages = {
            is_player: [*self._event_messages(committed.entries, is_player), *board_messages]
            for is_player in {is_player for _, is_player in self._followers}
        }
        turn, player_to_move = turn_message(room) if has_board_change else (None, None)
        turn_messages = [Outbound(turn)] if turn is not None else []
        before = committed.before
        # When `frozen` changes, each follower receives `joined` again, with its permissions.
        has_frozen_changed, is_as_full = False, True
        if before is not None:
            is_full = room.is_full
            is_as_full = before.is_full is is_full
            has_frozen_changed = before.frozen is not room.frozen or (
                is_full and before.read_only is not room.read_only
            )
        permitted: Mapping[Follower, Outbound] = {}
        if changes_game(events):
            self._permissions.collect_changes(room)
            permitted = {
                follower: Outbound(self._joined(room, follower)) for follower, _ in self._followers
            }
            has_frozen_changed = False
        elif not has_frozen_changed and not (
            is_as_full and leaves_permissions_unchanged(events, room, bool(self._presence.absences))
        ):
            permitted = self._permissions.collect_changes(room)
        to_sender = [Outbound(wire.Ack(command_id, room.v))]
        to_spectators = Batch(tuple(messages.get(False, ())))
        authors = {author_of(entry) for entry in committed.entries} - {None}
        for follower, is_player in self._followers:
            is_author = follower.identity in authors
            if not (is_player or is_author or follower is sender or follower in permitted):
                follower.send_batch(to_spectators)
                continue
            received = messages[is_player]
            if is_author:
                own = self._event_messages(committed.entries, is_player, follower.identity)
                received = [*own, *board_messages]
            if follower in permitted:
                event_count = len(committed.entries)
                received = [
                    *received[:event_count], permitted[follower], *received[event_count:]
                ]  # fmt: skip
            if player_to_move is not None and follower.identity == player_to_move:
                received = received + turn_messages
            if follower is sender:
                to_sender += received
            else:
                follower.send(*received)
        if sender is not None:
            self._ports.reached("before_ack")
            sender.send(*to_sender)
        if has_board_change:
            self._thinking.on_board_change(room)
        if has_frozen_changed:
            self.repeat_joined(room)

    def repeat_joined(self, room: Room) -> None:
        """Sends `joined` again: what the room can be used for has changed."""
        for follower, _ in self._followers:
            follower.send(Outbound(self._joined(room, follower)))

    def send_joined(
        self, join: wire.Join, follower: Follower, room: Room, missed: list[StoredEvent] | None
    ) -> None:
        """Adds a follower and sends it the events that it missed, or a snapshot
        if `missed` is None.
        """
        is_player = room.has_player(follower.identity)
        turn, player_to_move = turn_message(room)
        self._followers.add(follower, is_player)
        opening: list[wire.Outgoing | None] = [
            wire.Ack(join.id, None),
            self._joined(room, follower),
            views.snapshot(room, is_player, follower.identity) if missed is None else None,
        ]
        position = [view_message(room), turn if player_to_move == follower.identity else None]
        thinking = self._thinking.message_at_join(room.match, is_player)
        follower.send(
            *_outbound(opening),
            *self._event_messages(missed or [], is_player, follower.identity),
            *_outbound(position),
            *([thinking] if thinking is not None else ()),
            Outbound(self._presence.at_join(follower, room)),
        )
        self._followers.report()

    def send_thinking(self, thinking: wire.Thinking) -> None:
        """Sends the message to the followers on all nodes and to clients that join later, as far as
        they may see it.
        """
        self.receive_thinking(thinking)
        is_restricted = self._thinking.is_restricted
        self._ports.bus.publish(Ephemeral(self._room_id, self._ports.node, thinking, is_restricted))

    def receive_thinking(self, thinking: wire.Thinking) -> None:
        """Sends the message to this node's followers and to clients that join later, as far as they
        may see it.
        """
        self._thinking.receive(thinking)

    def _joined(self, room: Room, follower: Follower) -> wire.Joined:
        return wire.Joined(
            room=room.id, v=room.v, epoch=self._ports.store.epoch,
            description=views.description(room), seat=room.seat_of(follower.identity),
            frozen=room.read_only, may=self._permissions.list_at_join(room, follower),
            start_view=views.start_view(room), chat_commands=self._ports.chat_commands,
        )  # fmt: skip

    def _event_messages(
        self, events: Sequence[StoredEvent], is_player: bool, identity: str = ""
    ) -> list[Outbound]:
        """Returns the event messages for players or for spectators, or for the one with an
        identity, who also sees their own private lines.

        An event has a hidden body for followers outside its audience, and for all followers if this
        version does not define its audience.
        """
        audiences = (EVERYONE,) if is_player else (EVERYONE, SPECTATORS)
        return [
            Outbound(
                LoggedEvent(
                    self._room_id, event.v, event.at_ms,
                    event.body
                    if event.audience in audiences or (identity and author_of(event) == identity)
                    else HIDDEN_BODY,
                )
            )
            for event in events
        ]  # fmt: skip


def author_of(event: StoredEvent) -> str | None:
    """Returns the author of a line of chat that nobody else may see; None for any other event."""
    if event.audience != AUTHOR:
        return None
    said = parse_event_body(event.body)
    return said.identity if isinstance(said, Said) else None


def _outbound(messages: Sequence[wire.Outgoing | None]) -> list[Outbound]:
    return [Outbound(message) for message in messages if message is not None]


def view_message(room: Room) -> wire.View | None:
    """Returns the board of the running or last match.

    Returns None before the first match, and when the rules fail.
    """
    try:
        return views.view(room, room.match) if room.match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return None


def turn_message(room: Room) -> tuple[wire.Turn | None, str | None]:
    """Returns the legal moves, and the identity that receives them.

    Returns (None, None) when no person is to move, and when the rules fail.
    """
    match = room.running_match
    try:
        turn = views.turn(room, match) if match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return None, None
    if turn is None or match is None or match.position is None:
        return None, None
    return turn, match.seats[match.turn].identity


def _log_fault(room: Room, fault: GameFault) -> None:
    if isinstance(fault, GameHung):  # the watchdog has logged it, once
        return
    log.error("game fault", room=room.id, game=room.game_id, fault=str(fault), exc_info=True)
