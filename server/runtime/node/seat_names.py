"""Gives a player's new name to the seats in all rooms where the player sits."""

import structlog

from server.commands import Rename
from server.ids import IdentityId
from server.limits.by_address import LimitExceeded
from server.ports import Ports
from server.rooms.model import SERVER
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.requests import Request
from server.store.base import StoreError

log = structlog.get_logger()

#: Maximum number of running matches whose rooms a rename opens. The others follow when the player
#: joins them.
MAX_MATCHES = 20


async def update_seats(ports: Ports, rooms: OpenRooms, identity: IdentityId, address: str) -> None:
    """Gives the seats of an identity the name in the store: in the rooms of this node, and in those
    of the identity's running matches, which it opens for the address.

    A room for which memory has no place, or one that the store cannot name now, follows when the
    player joins it.
    """
    try:
        matches = await ports.store.projections.player_matches(identity, MAX_MATCHES, 0)
        player = await ports.store.identities.find(identity)
    except StoreError as error:
        log.warning("store unavailable", duty="rename", error=str(error))
        return
    if player is None:
        return
    room_ids = {
        runner.room_id
        for runner in rooms
        if runner.room is not None and runner.room.player_name(identity) not in (None, player.name)
    }
    room_ids.update(match.room for match in matches)
    for room_id in sorted(room_ids):
        try:
            runner = rooms.open(room_id, address)
        except LimitExceeded:
            continue
        rename = Rename(f"rename:{ports.new_id()}", identity, player.name)
        runner.submit(Request(SERVER, rename))
