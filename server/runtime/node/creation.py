"""Creates rooms, within the limits of an identity and of an address."""

import math

import structlog

from engine.game import UnknownGame
from engine.rules.errors import GameHung
from server.codes import Code
from server.commands import Create
from server.events import RoomEvent
from server.ids import RoomId
from server.limits.by_address import LimitExceeded, Limits
from server.limits.rate import Bucket
from server.ports import Ports
from server.protocol import messages as wire
from server.rooms import rules
from server.rooms.model import Actor, CommandRejected, Room
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.projections import log_entry, projections
from server.store.base import Append, CommandKey, NewRoom, StoredEvent

log = structlog.get_logger()


class RoomCreator:
    """Creates a room once for each identity and command id."""

    def __init__(self, ports: Ports, rooms: OpenRooms, limits: Limits) -> None:
        self._ports = ports
        self._rooms = rooms
        self._limits = limits
        self._buckets: dict[str, Bucket] = {}

    async def create(
        self, actor: Actor, command: Create, address: str = ""
    ) -> tuple[wire.Ack, Room | None]:
        """Creates a room; returns the ack, and the room unless it was created before.

        The room's place in memory is reserved for RESERVED_S, so that the creator can join. Raises
        CommandRejected or StoreError when no room is created.
        """
        # The prefix distinguishes this key from those of the actor's commands in the new room,
        # where the same id may occur again.
        key = CommandKey(f"create {actor.identity}", command.id)
        store, now_ms = self._ports.store, self._ports.now_ms()
        try:
            room, entries, events = self._prepare(actor, command, now_ms, address)
        except CommandRejected:
            # A command that was acknowledged is acknowledged again, even if a limit would refuse it
            # now.
            earlier = await store.logs.created_room(actor.identity, command.id)
            if earlier is None:
                raise
            return await self._ack_earlier(earlier, key), None
        append = Append(
            room=room.id, expected_v=0, events=entries, node=self._ports.node,
            due_ms=room.due_ms(self._ports.settings.forced_pass_ms), command=key,
            projections=projections(room, events, None),
        )  # fmt: skip
        new = NewRoom(
            append, room.game_id, room.visibility == "public", actor.identity, command.id, now_ms
        )
        try:
            await store.expiry.mark_permanent(actor.identity)
            earlier = await store.logs.create_room(new)
        except BaseException:
            self._limits.room_slots.free(room.id)
            raise
        if earlier is not None:
            self._limits.room_slots.free(room.id)
            return await self._ack_earlier(earlier, key), None
        self._rooms.open_new(room, address)
        return wire.Ack(command.id, room.v, room.id), room

    def forget_full_buckets(self) -> None:
        """Drops the buckets of identities that have created no room lately."""
        now_s = self._ports.uptime_ms() / 1000
        self._buckets = {
            identity: bucket
            for identity, bucket in self._buckets.items()
            if not bucket.is_full(now_s)
        }

    async def _ack_earlier(self, room: str, key: CommandKey) -> wire.Ack:
        """Returns the ack for a room that an earlier attempt of this command created."""
        versions = await self._ports.store.logs.find_command(room, key)
        return wire.Ack(key.id, versions[1] if versions else None, room)

    def _prepare(
        self, actor: Actor, command: Create, now_ms: int, address: str
    ) -> tuple[Room, tuple[StoredEvent, ...], list[RoomEvent]]:
        """Checks every limit, and returns the new room with its log entries and events.

        Reserves a place in memory for the room. Raises CommandRejected.
        """
        find_game, new_id = self._ports.find_game, self._ports.new_id
        # Before the rules are asked: to read a start position costs up to 20 ms, refused or not.
        self._take_token(actor.identity)
        self._limits.rooms.take(address, self._ports.uptime_ms() / 1000)
        try:
            events = rules.create(actor, command, find_game(command.game), new_id)
        except UnknownGame as error:
            raise CommandRejected(Code.GAME_UNKNOWN, str(error)) from error
        except CommandRejected:
            raise
        except GameHung as hung:  # the watchdog has logged it
            raise CommandRejected(Code.GAME_HUNG, str(hung)) from hung
        except Exception as fault:  # a plug-in's file may raise anything while it is imported
            log.error("game fault", game=command.game, fault=str(fault), exc_info=True)
            raise CommandRejected(
                Code.GAME_FAULT, "the rules of this game failed at the start"
            ) from fault
        self._rooms.make_place(address)
        room = rules.initial_room(RoomId(new_id()), events[0], now_ms, find_game)
        entries = [log_entry(room, events[0], now_ms)]
        for event in events[1:]:
            room = rules.evolve(room, event, now_ms, find_game)
            entries.append(log_entry(room, event, now_ms))
        self._limits.room_slots.take(room.id, address)
        return room, tuple(entries), events

    def _take_token(self, identity: str) -> None:
        """Takes a token for creating a room. Raises LimitExceeded if the identity has none."""
        settings = self._ports.settings
        now_s = self._ports.uptime_ms() / 1000
        bucket = self._buckets.get(identity)
        if bucket is None:
            bucket = self._buckets[identity] = Bucket(
                settings.rooms_per_minute / 60, settings.rooms_burst, now_s
            )
        if not bucket.take(now_s):
            retry_s = max(1, math.ceil(bucket.wait_s()))
            raise LimitExceeded(Code.RATE_EXCEEDED, "you create rooms too fast", retry_s)
