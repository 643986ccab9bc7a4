"""Gives the seats of a player the player's new name."""

from server.commands import Command, Rename
from server.events import RoomEvent
from server.ports import Ports
from server.rooms.model import SERVER, Actor, Room
from server.runtime.log import EventLog


async def update_name(ports: Ports, log: EventLog[Room, Command, RoomEvent], actor: Actor) -> None:
    """Gives the seat of an actor the name that the identity has in the store.

    It reads the store only if the actor's name and that of the seat differ: a connection that was
    opened before the player changed the name still has the old one. Raises StoreError.
    """
    shown_name = log.state.player_name(actor.identity)
    if shown_name in (None, actor.name):
        return
    identity = await ports.store.identities.find(actor.identity)
    if identity is not None and identity.name != shown_name:
        rename = Rename(f"rename:{log.state.v}", identity.id, identity.name)
        await log.execute(SERVER, rename, ports.now_ms())
