"""The items of a room's mailbox, except the bus messages, and the answers to requests."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog
from msgspec import Struct

from server.codes import Code
from server.commands import Command, Move
from server.ids import RoomId
from server.limits.by_address import CommandLimits
from server.ports import Follower
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms.model import Actor, ActorKind
from server.runtime.log import Accepted, Outcome, Rejected

log = structlog.get_logger()


class Request(Struct, frozen=True):
    """A command, with the follower that receives the answer or a function to call with the outcome.

    `thought` is the analysis of an AI's move.
    """

    actor: Actor
    command: Command | wire.Join | wire.Leave
    follower: Follower | None = None
    thought: bytes | None = None
    #: The time at which it arrived at this node, in ms since 1970; 0 for the server's own commands.
    received_ms: int = 0
    on_outcome: Callable[[Outcome], None] | None = None
    #: The address from which it came; "" for a command without a connection.
    address: str = ""


@dataclass(frozen=True, slots=True)
class TakeOver:
    """This node becomes responsible for the room's wake-ups; `earlier_node` was before."""

    earlier_node: str


@dataclass(frozen=True, slots=True)
class Outage:
    """The node that is responsible for the room has died."""

    node: str


@dataclass(frozen=True, slots=True)
class Resync:
    """The store may have events that this node has not seen."""


@dataclass(frozen=True, slots=True)
class Review:
    """This process may no longer play the room's game."""


class Wake(Struct, frozen=True):
    """The room's timer has expired.

    It was set for a deadline at `tick_ms`, in ms since 1970, or for a change of the permitted
    commands at `change_ms`, in ms of `Ports.uptime_ms`. None for both means that the room must read
    its log again.
    """

    tick_ms: int | None = None
    change_ms: int | None = None


def command_id(item: object) -> str | None:
    """Returns the id of the command in a mailbox item, None for other items."""
    return item.command.id if isinstance(item, Request) else None


def reply(request: Request, outcome: Outcome) -> None:
    """Answers a request. Logs a refused command of the server itself, which has no receiver."""
    if request.follower is not None:
        request.follower.send(Outbound(_answer(request.command.id, outcome)))
    elif request.on_outcome is not None:
        request.on_outcome(outcome)
    elif isinstance(outcome, Rejected):
        log.info(
            "server command refused",
            id=request.command.id,
            code=outcome.code,
            reason=outcome.message,
        )


def _answer(key: str, outcome: Outcome) -> wire.Ack | wire.Error:
    if isinstance(outcome, Accepted):
        return wire.Ack(key, outcome.v)
    return wire.Error(key, outcome.code, outcome.message)


def settle_limits(
    limits: CommandLimits, room_id: RoomId, request: Request, outcome: Outcome, now_s: float
) -> None:
    """Settles the limits of commands after a request that made no events.

    The room gets its token back. The address pays for a move that was refused.
    """
    if request.actor.kind is not ActorKind.PERSON:
        return
    limits.on_no_events(room_id)
    if type(request.command) is Move and isinstance(outcome, Rejected):
        limits.on_refused_move(request.address, now_s)


def refuse(item: object, code: Code, message: str) -> None:
    """Answers a request with an error. Other items need no answer."""
    if isinstance(item, Request):
        reply(item, Rejected(code, message))
