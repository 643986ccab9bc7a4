"""Formats a room for clients: description, snapshot, board, legal moves, permitted commands.

These are the messages about a room that are not events: an event goes to clients as the log stores
it (`server.protocol.codec.event_frame`).
"""

from collections.abc import Iterable, Sequence

from msgspec import structs
from msgspec.structs import replace

from engine.game import GameFault, OptionError, PositionError
from engine.view import BoardView, PositionView
from server.commands import ClientCommand
from server.events import Occupant, Player
from server.protocol import messages as wire
from server.protocol.level_names import level_names
from server.rooms import positions
from server.rooms.clock import Clock, pairs_of
from server.rooms.matches import clocks_of
from server.rooms.model import Match, MatchResult, Played, Room, Substitution
from server.rooms.permissions import Permission, SeeThinking
from server.rooms.starts import start_position
from server.time_controls import format_control

#: The name of each permission for clients: for a command its `t`.
_NAMES: dict[Permission, str] = {
    **{kind: str(kind.__struct_config__.tag) for kind in ClientCommand.__args__},
    SeeThinking: "see_thinking",
}


def description(room: Room) -> wire.RoomDescription:
    """The room's description, which a next match of another game changes."""
    board: BoardView | None = None
    if room.game is not None:
        try:
            board = room.game.board(room.options)
        except GameFault:
            board = None
    levels = room.game.levels if room.game else 1
    return wire.RoomDescription(
        game=room.game_id, title=room.game.title if room.game else room.game_id,
        options=dict(room.options), visibility=room.visibility,
        host=room.host, created_ms=room.created_ms,
        levels=levels, level_names=level_names(levels) if room.game else (), view=board,
        start=room.start, one_screen=room.one_screen, takeback=room.takeback,
        search=room.game.rules.SEARCH if room.game else "production", rated=room.rated,
        goal=room.game.goal if room.game else "", options_text=options_text(room),
    )  # fmt: skip


def options_text(room: Room) -> str:
    """The room's options in words: those of its game, or none if this server does not have it."""
    return room.game.options_text(room.options) if room.game else ""


def start_view(room: Room) -> PositionView | None:
    """The position in which the room's first match will start.

    None once it has started, and if this server does not have the game, or not with these options.
    """
    if room.match is not None or room.game is None:
        return None
    try:
        return positions.view(start_position(room.game, room.options, room.start))
    except (GameFault, OptionError, PositionError):
        return None


def snapshot(room: Room, player: bool, identity: str = "") -> wire.Snapshot:
    """The whole room as a player, or as a spectator, may see it, with the private lines of the
    viewer's identity.
    """
    chat = tuple(
        wire.ChatLine(*structs.astuple(line))
        for line in room.chat
        if line.to == "room"
        or (line.to == "spectators" and not player)
        or (line.is_private and line.identity == identity)
    )
    match = match_state(room.match) if room.match else None
    return wire.Snapshot(
        room=room.id, v=room.v, seats=format_seats(room.seats), match=match,
        offers=room.offers, chat=chat, proposals=format_proposals(room), thinking=room.thinking,
        help=room.help, muted=tuple([Player(*structs.astuple(each)) for each in room.muted]),
        barred=tuple([Player(*structs.astuple(each)) for each in room.barred]),
        series=room.series,
        clock=None if room.control is None else format_control(room.control),
    )  # fmt: skip


def format_proposals(room: Room) -> tuple[wire.Proposal, ...]:
    """The open requests for a takeback, and the proposal of the next game, for clients."""
    proposals = [
        wire.Proposal(offer.seat, "takeback", offer.to_ply) for offer in room.takeback_offers
    ]
    if (offer := room.next_offer) is not None:
        proposals.append(
            wire.Proposal(
                offer.seat, "next", v=offer.v, game=offer.game, options=dict(offer.options),
                seats=offer.seats, level=offer.level, title=offer.title,
                options_text=offer.options_text, clock=offer.clock,
            )
        )  # fmt: skip
    return tuple(proposals)


def match_state(match: Match) -> wire.MatchState:
    """The match as a snapshot shows it."""
    return wire.MatchState(
        id=match.id, number=match.number, start=match.start, rules=match.rules,
        seats=tuple(map(format_occupant, match.seats)),
        moves=tuple([format_played(played) for played in match.moves]),
        over=format_result(match.over) if match.over is not None else None,
        substitutions=tuple(
            [format_substitution(substitution) for substitution in match.substitutions]
        ),
        thinking=match.thinking,
        clock=None if match.clock is None else clock_state(match.clock, match.over),
    )  # fmt: skip


def clock_state(clock: Clock, over: MatchResult | None) -> wire.ClockState:
    """The clock of a match for clients; `over` is the result of a finished match."""
    stages, periods = pairs_of(clock)
    state = wire.ClockState(
        control=format_control(clock.control), left_ms=clocks_of(clock.sides),
        since_ms=clock.since_ms, running=clock.turn if all(clock.opened) else None,
        used_ms=clock.turn_ms, move_ms=clock.move_ms, held=clock.held, stages=stages,
        periods=periods, first_ms=clock.first_ms,
    )  # fmt: skip
    if over is None:
        return state
    left_ms = over.clocks_ms or state.left_ms
    return replace(state, left_ms=left_ms, running=None, used_ms=0, move_ms=0, held=None)


def format_occupant(occupant: Occupant) -> Occupant:
    """The holder of a seat for clients."""
    player = occupant.kept_for
    return Occupant(
        occupant.identity, occupant.name, occupant.kind, occupant.level, occupant.persona,
        occupant.strategy, occupant.depth, occupant.evaluator,
        Player(player.identity, player.name) if player is not None else None, occupant.own_name,
    )  # fmt: skip


def format_seats(seats: Sequence[Occupant | None]) -> tuple[Occupant | None, ...]:
    """The holders of all seats for clients."""
    return tuple(format_occupant(seat) if seat is not None else None for seat in seats)


def format_played(played: Played) -> wire.Played:
    """A move of a match for clients."""
    return wire.Played(played.move, played.text, played.number, played.forced, played.seat)


def format_substitution(substitution: Substitution) -> wire.Substitution:
    """A substitution of a match for clients."""
    return wire.Substitution(
        substitution.ply, substitution.seat, format_occupant(substitution.occupant)
    )  # fmt: skip


def format_result(over: MatchResult) -> wire.MatchResult:
    """The result of a match for clients."""
    return wire.MatchResult(over.winner, over.how, over.reason, over.points)


def view(room: Room, match: Match) -> wire.View | None:
    """The board of a match; None if this server cannot play it.

    Raises GameFault when the rules fail.
    """
    if match.position is None:
        return None
    position_view = positions.view(match.position)
    if match.over is not None and position_view.turn is not None:
        position_view = _without_turn(position_view, match.over)
    return wire.View(room=room.id, v=room.v, match=match.id, ply=match.ply, view=position_view)


def _without_turn(position_view: PositionView, over: MatchResult) -> PositionView:
    """The view of a match that did not end on the board: no seat to move, the reason as text."""
    return replace(position_view, turn=None, text=over.reason)


def turn(room: Room, match: Match) -> wire.Turn | None:
    """The legal moves of the seat to move; None if no person is, or the room can only be read.

    Raises GameFault when the rules fail.
    """
    position = match.position
    if position is None or match.over is not None or room.frozen is not None:
        return None
    if match.seats[match.turn].kind == "ai":
        return None
    return wire.Turn(
        room=room.id, v=room.v, match=match.id, ply=match.ply, moves=positions.move_views(position),
        claim=position.claim(),
    )  # fmt: skip


def format_permissions(permissions: Iterable[Permission]) -> tuple[str, ...]:
    """The names of permissions for clients. Raises KeyError for the server's own commands."""
    return tuple([_NAMES[permission] for permission in permissions])
