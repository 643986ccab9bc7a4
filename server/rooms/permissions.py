"""Which commands a room accepts from a viewer, and the reasons for which it refuses the others.

The right to see an AI's thinking stands beside the commands, with a condition of its own.

Each command has a condition: a function that returns the reason for which the room refuses the
command from this viewer, or None. The command's rule checks it before it makes events. `permitted`
checks all of them, so that clients can offer the commands that the room would accept. The rule also
checks the command's own fields, such as a legal move or a level that the game has.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from engine.game import Game, GameFault, OptionError, Position, PositionError
from engine.view import SEATS
from server.codes import Code
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AddTime,
    Bar,
    CallDraw,
    Chat,
    Claim,
    ClaimWin,
    Command,
    Configure,
    Decline,
    Hint,
    LetAiPlay,
    Move,
    Mute,
    NextGame,
    OfferDraw,
    OfferKind,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
    Takeback,
    Unmute,
)
from server.events import Moved, Occupant, RoomEvent
from server.ids import IdentityId
from server.rooms import chat_limits, full, muting, takebacks, thinking
from server.rooms.clock import least_deadline_ms, ran_before_last_move
from server.rooms.model import (
    Actor,
    CommandRejected,
    FindAbsence,
    Match,
    Room,
    Viewer,
    nobody_absent,
)
from server.rooms.refusals import (
    ABORT_BY_SPECTATOR,
    ABORT_TOO_LATE,
    ABSENT_MOVE,
    AI_LOCKED,
    BAR_TOO_LATE,
    BAR_UNKNOWN,
    BARRED,
    CANNOT_PLAY_ON,
    CANNOT_WIN,
    CLAIM_ON_OWN_MOVE,
    CLAIM_TOO_EARLY,
    HAS_SEAT,
    HELP_BETWEEN_PEOPLE,
    HELP_IN_RATED_MATCH,
    HUNG,
    MATCH_OVER,
    MATCH_RUNNING,
    NEWER,
    NEXT_BY_SPECTATOR,
    NO_AI,
    NO_CLOCK,
    NO_DRAWS,
    NO_KEPT_SEAT,
    NO_MATCH,
    NO_MOVE_TO_TAKE_BACK,
    NO_OFFER,
    NO_OFFER_BY_OPPONENT,
    NO_SEAT,
    NO_TAKEBACKS,
    NOBODY_TO_GO,
    NOT_HOST,
    NOT_STARTED,
    ONE_SCREEN,
    OPPONENT_PRESENT,
    OUT_OF_TIME,
    READ_ONLY,
    REMATCH_BY_SPECTATOR,
    REMATCH_OFFERED,
    SEAT_EMPTY,
    SEAT_LOCKED,
    SEAT_TAKEN,
    SETTING_LOCKED,
    TAKEBACK_REQUESTED,
    TIME_ADDED,
    UNSURE,
    Refusal,
)
from server.rooms.starts import start_position
from server.rooms.turns import second_turn_ply, turns_since
from server.settings import Settings

#: Turns after an offer before the player may offer a draw again, so that repeated offers do not
#: harass the opponent. A turn is one ply, or more in games with extra turns.
OFFER_AGAIN_TURNS = 10
#: The time that a player gives the opponent with one command, and how often in a match.
ADDED_MS, MAX_ADDED = 15_000, 8


class SeeThinking:
    """The right to see the AI's thinking about the room's match, and searches of its positions in
    the glass box. It is not a command, but it has a condition like one.
    """


#: What a viewer may be permitted: a type of command, or the right to see the thinking.
Permission = type[Command] | type[SeeThinking]

#: The condition of a command: returns None, or the reason to refuse it from this viewer.
Condition = Callable[[Room, Viewer], Refusal | None]


def viewer_of(room: Room, identity: IdentityId) -> Viewer:
    """Returns the role of an identity in a room."""
    return Viewer(identity, room.acting_seat(identity), identity == room.host)


def viewer_with_absence(room: Room, identity: IdentityId, find_absence: FindAbsence) -> Viewer:
    """Returns the role of an identity in a room, with the absence of its opponent."""
    viewer = viewer_of(room, identity)
    opponent = _opponent_who_may_go(room, viewer)
    if opponent is None:
        return viewer
    absence = find_absence(IdentityId(opponent.identity))
    return Viewer(identity, viewer.seat, viewer.is_host, absence)


def check(refusal: Refusal | None) -> None:
    """Raises CommandRejected if there is a reason to refuse the command."""
    if refusal is not None:
        raise CommandRejected(*refusal)


# --- the parts of a room that a rule needs ------------------------------------------------------


def game_of(room: Room) -> Game:
    """The room's game. Raises CommandRejected if this server does not have it."""
    if room.game is None:
        check(refusal_without_game(room))
    assert room.game is not None, "a missing game is a reason to refuse"
    return room.game


def require_running_match(room: Room) -> Match:
    """The running match. Raises CommandRejected if there is none."""
    match = room.match
    if match is None or match.over is not None:
        check(refusal_unless_running(room))
    assert match is not None, "no match is a reason to refuse"
    return match


def playable_position(room: Room, match: Match) -> Position:
    """The match's position. Raises CommandRejected if the match can only be read."""
    if room.frozen is not None or match.position is None:
        refusal = _refusal_to_play(room)
        raise CommandRejected(refusal.code, refusal.message)
    return match.position


def own_seat(room: Room, actor: Actor, seat: int | None = None) -> int:
    """The seat for which the actor acts: `seat` if the actor holds it.

    Raises CommandRejected if the actor has no seat, or not that one.
    """
    acting = room.acting_seat(actor.identity)
    if acting is None:
        raise CommandRejected(*NO_SEAT)
    if seat is None or seat == acting:
        return acting
    if not room.one_screen:
        raise CommandRejected(Code.SEAT_NONE, "you do not hold that seat")
    return seat


# --- the conditions -----------------------------------------------------------------------------


def sit(room: Room, viewer: Viewer, seat: int | None = None) -> Refusal | None:
    """`seat` is the seat to take; None stands for any."""
    if room.is_barred(viewer.identity):
        return BARRED
    if _is_taken(room, seat):
        return SEAT_TAKEN
    return HAS_SEAT if viewer.seat is not None else _refusal_to_fill(room)


def stand(room: Room, viewer: Viewer) -> Refusal | None:
    if viewer.seat is None:
        return NO_SEAT
    if room.running_match is not None:
        return SEAT_LOCKED
    return ONE_SCREEN if room.one_screen else None


def bar(room: Room, viewer: Viewer, identity: str | None = None) -> Refusal | None:
    """`identity` is the person whose seat is to be freed; None stands for anyone."""
    if not viewer.is_host:
        return NOT_HOST
    if room.newcomers if identity is None else identity in room.newcomers:
        return None
    is_seated = identity is not None and room.seat_of(IdentityId(identity)) is not None
    return BAR_TOO_LATE if is_seated and identity != viewer.identity else BAR_UNKNOWN


def add_ai(room: Room, viewer: Viewer, seat: int | None = None) -> Refusal | None:
    """`seat` is the seat to fill; None stands for any."""
    if not viewer.is_host:
        return NOT_HOST
    return SEAT_TAKEN if _is_taken(room, seat) else _refusal_to_fill(room)


def remove_ai(room: Room, viewer: Viewer, seat: int | None = None) -> Refusal | None:
    """`seat` is the seat to empty; None stands for any."""
    if not viewer.is_host:
        return NOT_HOST
    occupant = None if seat is None else room.seats[seat]
    if not (room.has_ai if seat is None else occupant is not None and occupant.kind == "ai"):
        return NO_AI
    return AI_LOCKED if room.running_match is not None else None


def configure(room: Room, viewer: Viewer) -> Refusal | None:
    if not viewer.is_host:
        return NOT_HOST
    return SETTING_LOCKED if room.running_match is not None else None


def resign(room: Room, viewer: Viewer) -> Refusal | None:
    return NO_SEAT if viewer.seat is None else refusal_unless_running(room)


def abort(room: Room, viewer: Viewer) -> Refusal | None:
    match = room.running_match
    if match is None:
        return refusal_unless_running(room)
    if viewer.seat is None:
        return None if viewer.is_host and _has_only_ai(room) else ABORT_BY_SPECTATOR
    # A frozen match cannot be played on, so its players may abort it at any ply.
    has_begun = second_turn_ply(match) is not None
    return ABORT_TOO_LATE if has_begun and _is_playable(room, match) else None


def rematch(room: Room, viewer: Viewer) -> Refusal | None:
    if room.match is None:
        return NO_MATCH
    if room.match.over is None:
        return MATCH_RUNNING
    if room.game is None:
        return refusal_without_game(room)
    if None in room.seats:
        return SEAT_EMPTY
    if viewer.seat is None and not (viewer.is_host and _has_only_ai(room)):
        return REMATCH_BY_SPECTATOR
    if starts_rematch(room, viewer):
        return _refusal_to_start(room)
    return REMATCH_OFFERED if viewer.seat in room.offers else None


def _can_be_drawn(room: Room) -> bool:
    """Whether a match of the room can be a draw; True where this server does not have the game, or
    its rules fail.
    """
    try:
        return room.game is None or room.game.can_be_drawn(room.options)
    except GameFault:
        return True


def next_game(room: Room, viewer: Viewer) -> Refusal | None:
    """The room's present game may be missing here: the next one is another."""
    if room.match is None:
        return NO_MATCH
    if room.match.over is None:
        return MATCH_RUNNING
    if None in room.seats:
        return SEAT_EMPTY
    if viewer.seat is None and not (viewer.is_host and _has_only_ai(room)):
        return NEXT_BY_SPECTATOR
    return None


def offer_draw(room: Room, viewer: Viewer) -> Refusal | None:
    seat, match = viewer.seat, room.running_match
    if seat is None:
        return NO_SEAT
    if match is None:
        return refusal_unless_running(room)
    if not _can_be_drawn(room):
        return NO_DRAWS
    if 1 - seat in room.offers:
        return None
    offered_ply = match.draw_offers[seat]
    turns_to_wait = OFFER_AGAIN_TURNS - turns_since(match, offered_ply)
    if offered_ply < 0 or turns_to_wait <= 0:
        return None
    return Refusal(
        Code.OFFER_TWICE, f"you may offer a draw again after {turns_to_wait} more turns"
    )  # fmt: skip


def takeback(room: Room, viewer: Viewer) -> Refusal | None:
    seat, match = viewer.seat, room.running_match
    if seat is None:
        return NO_SEAT
    if match is None:
        return refusal_unless_running(room)
    if not room.takeback:
        return NO_TAKEBACKS
    refusal = _refusal_unless_playable(room, match)
    if refusal is not None:
        return refusal
    to_ply = takebacks.takeback_ply(room, match, seat)
    if to_ply is None:
        return NO_MOVE_TO_TAKE_BACK
    is_at_once = takebacks.takes_back_at_once(room, match, seat)
    if is_at_once and takebacks.takes_back_absent_move(match, seat, to_ply):
        return ABSENT_MOVE
    if match.takeback_requests[seat] == match.ply and not is_at_once:
        return TAKEBACK_REQUESTED
    return None


def accept(room: Room, viewer: Viewer, what: OfferKind | None = None) -> Refusal | None:
    """`what` is the offer to accept; None stands for any."""
    if viewer.seat is None:
        return NO_SEAT
    if what in (None, "next") and _is_proposed_by(room, 1 - viewer.seat):
        return next_game(room, viewer)
    match, is_other_open = room.running_match, 1 - viewer.seat in room.offers
    takeback_offer = takebacks.takeback_offer_of(room, 1 - viewer.seat)
    if match is not None and what in (None, "takeback") and takeback_offer is not None:
        refusal = _refusal_unless_playable(room, match)
        if refusal is None or what == "takeback" or not is_other_open:
            return refusal
    if not is_other_open or what not in (None, draw_or_rematch(room)):
        return NO_OFFER_BY_OPPONENT
    return rematch(room, viewer) if room.running_match is None else None


def decline(room: Room, viewer: Viewer, what: OfferKind | None = None) -> Refusal | None:
    """`what` is the offer to decline; None stands for any."""
    if viewer.seat is None:
        return NO_SEAT
    if room.takeback_offers and what in (None, "takeback"):
        return None
    if room.next_offer is not None and what in (None, "next"):
        return None
    return None if room.offers and what in (None, draw_or_rematch(room)) else NO_OFFER


def claim_win(room: Room, viewer: Viewer) -> Refusal | None:
    """The viewer must be that of `viewer_with_absence`, as for the next two conditions."""
    refusal, match = _refusal_to_claim(room, viewer), room.running_match
    if refusal is not None or match is None or not _is_playable(room, match):
        return refusal
    assert match.position is not None, "a match that can be played has a position"
    assert viewer.seat is not None, "only a player may claim"
    return None if match.position.can_win(viewer.seat) else CANNOT_WIN


def call_draw(room: Room, viewer: Viewer) -> Refusal | None:
    refusal = _refusal_to_claim(room, viewer)
    if refusal is None and not _can_be_drawn(room):
        return NO_DRAWS
    return refusal


def let_ai_play(room: Room, viewer: Viewer) -> Refusal | None:
    refusal, match = _refusal_to_claim(room, viewer), room.running_match
    if refusal is None and (match is None or not _is_playable(room, match)):
        return CANNOT_PLAY_ON
    return refusal


def reclaim_seat(room: Room, viewer: Viewer) -> Refusal | None:
    return NO_KEPT_SEAT if room.kept_seat(viewer.identity) is None else None


def add_time(room: Room, viewer: Viewer) -> Refusal | None:
    match = room.running_match
    if viewer.seat is None:
        return NO_SEAT
    if match is None:
        return refusal_unless_running(room)
    if match.clock is None or not match.clock.runs or not _is_playable(room, match):
        return NO_CLOCK
    return TIME_ADDED if match.clock.added[1 - viewer.seat] >= MAX_ADDED else None


def position_help(room: Room, viewer: Viewer | None = None) -> Refusal | None:
    """The condition of all help with positions, for players and spectators alike."""
    match = room.running_match
    if match is None:
        return None
    return help_while_running(
        match.seats, rated=room.rated, one_screen=room.one_screen, has_help=room.help
    )


def help_while_running(
    seats: Sequence[Occupant], *, rated: bool, one_screen: bool, has_help: bool
) -> Refusal | None:
    """Why a running match of these seats gets no help with positions; None if it does.

    Nobody gets help in a match that is rated, or that two people play unless the room allows it. An
    AI that keeps a seat for a person counts as that person. A person who plays both sides on one
    screen may have help.
    """
    if rated:
        return HELP_IN_RATED_MATCH
    are_people = all(seat.kind != "ai" or seat.kept_for is not None for seat in seats)
    return HELP_BETWEEN_PEOPLE if are_people and not (has_help or one_screen) else None


def see_thinking(room: Room, viewer: Viewer) -> Refusal | None:
    """Before the first match there is nothing to withhold."""
    if room.match is None:
        return None
    reason = thinking.reason_to_withhold(room.match, room.has_player(viewer.identity))
    return None if reason is None else Refusal(Code.TRACE_WITHHELD, reason)


def hint(room: Room, viewer: Viewer) -> Refusal | None:
    match = room.running_match
    if match is None:
        return refusal_unless_running(room)
    return _refusal_unless_playable(room, match) or position_help(room, viewer)


# --- shared conditions --------------------------------------------------------------------------


def _opponent_who_may_go(room: Room, viewer: Viewer) -> Occupant | None:
    """The viewer's opponent in a running match, if that is another person; otherwise None."""
    if viewer.seat is None or room.running_match is None:
        return None
    opponent = room.seats[1 - viewer.seat]
    is_other_person = (
        opponent is not None and opponent.kind != "ai" and opponent.identity != viewer.identity
    )
    return opponent if is_other_person else None


def _refusal_to_claim(room: Room, viewer: Viewer) -> Refusal | None:
    """The reason to refuse all claims against an opponent who has gone."""
    refusal, absence = _refusal_at_any_time(room, viewer), viewer.absence
    if refusal is not None or absence is None:
        return refusal
    if absence.left_ms > 0:
        left_s = -(-absence.left_ms // 1000)
        return Refusal(Code.CLAIM_NONE, f"your opponent has gone; you may claim in {left_s} s")
    return None if absence.sure_in_ms == 0 else UNSURE


def _refusal_at_any_time(room: Room, viewer: Viewer) -> Refusal | None:
    """The reason to refuse all claims, however long the opponent has been gone.

    On one's own move the opponent would lose by waiting for a slow thinker. Before both sides have
    moved a match can be aborted. A match that can only be read waits for no move.
    """
    match = room.running_match
    if viewer.seat is None:
        return NO_SEAT
    if match is None:
        return refusal_unless_running(room)
    if _opponent_who_may_go(room, viewer) is None:
        return NOBODY_TO_GO
    if viewer.absence is None:
        return OPPONENT_PRESENT
    if second_turn_ply(match) is None:
        return CLAIM_TOO_EARLY
    is_own_move = match.turn == viewer.seat and _is_playable(room, match)
    return CLAIM_ON_OWN_MOVE if is_own_move else None


def refusal_if_newer(room: Room) -> Refusal | None:
    """The reason to refuse every command: the room has events of a newer version."""
    return NEWER if room.frozen is Code.ROOM_NEWER else None


def refusal_after_flag(room: Room, permission: Permission, at_ms: int) -> Refusal | None:
    """The reason to refuse a command of a match in which the side to move has no time left: its
    flag falls, whatever arrives later.
    """
    is_late = permission in UNTIL_FLAG and _has_flag_fallen(room, at_ms)
    return OUT_OF_TIME if is_late else None


def _has_flag_fallen(room: Room, at_ms: int) -> bool:
    """Whether the side to move has no time left."""
    if room.match is None or room.match.clock is None:
        return False
    if at_ms < least_deadline_ms(room.match.clock):
        return False
    flag_ms = room.flag_ms()
    return flag_ms is not None and at_ms >= flag_ms


def refusal_unless_running(room: Room) -> Refusal | None:
    """The reason to refuse a command that needs a running match; None while one is running."""
    if room.match is None:
        return NOT_STARTED
    return MATCH_OVER if room.match.over is not None else None


def _refusal_unless_playable(room: Room, match: Match) -> Refusal | None:
    """The reason to refuse a command that needs the position of a match that can only be read."""
    return None if _is_playable(room, match) else _refusal_to_play(room)


def _is_playable(room: Room, match: Match) -> bool:
    return match.position is not None and room.frozen is None


def _refusal_to_play(room: Room) -> Refusal:
    """The reason to refuse a command that needs a position, in a room that can only be read."""
    if room.frozen is Code.GAME_HUNG:
        return HUNG
    return Refusal(room.frozen or READ_ONLY.code, READ_ONLY.message)


def refusal_without_game(room: Room) -> Refusal | None:
    """The reason to refuse a command that needs the game; None if this server has it."""
    if room.game is not None:
        return None
    return Refusal(
        room.frozen or Code.ROOM_FROZEN, f"this server does not have the game {room.game_id}"
    )


def draw_or_rematch(room: Room) -> OfferKind:
    """What the open offers of the room concern, besides takebacks."""
    return "draw" if room.running_match is not None else "rematch"


def starts_rematch(room: Room, viewer: Viewer) -> bool:
    """Whether a rematch that the viewer asks for starts at once, without an offer."""
    is_offered = viewer.seat is not None and 1 - viewer.seat in room.offers
    return is_offered or starts_at_once(room, viewer)


def starts_at_once(room: Room, viewer: Viewer) -> bool:
    """Whether the viewer alone decides about the next match: against an AI, on one screen, and as
    the host of a match between AI seats.
    """
    if viewer.seat is None or room.one_screen:
        return True
    opponent = room.seats[1 - viewer.seat]
    return opponent is not None and opponent.kind == "ai"


def _is_proposed_by(room: Room, seat: int) -> bool:
    """Whether the player on a seat has proposed the next game."""
    return room.next_offer is not None and room.next_offer.seat == seat


def _is_taken(room: Room, seat: int | None) -> bool:
    """Whether the seat is taken; for None, whether every seat is."""
    return None not in room.seats if seat is None else room.seats[seat] is not None


def _refusal_to_fill(room: Room) -> Refusal | None:
    """The reason to refuse to fill an empty seat: filling the last one starts a match."""
    if room.game is None:
        return refusal_without_game(room)
    return _refusal_to_start(room) if room.seats.count(None) == 1 else None


def _refusal_to_start(room: Room) -> Refusal | None:
    """The reason to refuse to start a match: the game no longer has the room's options or its start
    position.

    Raises GameFault when the rules fail.
    """
    assert room.game is not None, "the caller has checked the game"
    return _check_start(room.game, tuple(room.options.items()), room.start)


@lru_cache(maxsize=1024)
def _check_start(
    game: Game, options: tuple[tuple[str, str], ...], start: str | None
) -> Refusal | None:
    try:
        start_position(game, dict(options), start)
    except OptionError as error:
        return Refusal(Code.OPTION_UNKNOWN, str(error))
    except PositionError as error:
        return Refusal(Code.POSITION_REFUSED, str(error))
    return None


def _has_only_ai(room: Room) -> bool:
    """Whether AIs hold all seats."""
    return all(seat is not None and seat.kind == "ai" for seat in room.seats)


# --- all conditions -----------------------------------------------------------------------------

#: The conditions of what may be permitted while a match is running.
DURING_MATCH: dict[Permission, Condition] = {
    Resign: resign,
    Abort: abort,
    OfferDraw: offer_draw,
    Takeback: takeback,
    Accept: accept,
    Decline: decline,
    ClaimWin: claim_win,
    CallDraw: call_draw,
    LetAiPlay: let_ai_play,
    ReclaimSeat: reclaim_seat,
    AddTime: add_time,
    Hint: hint,
    Mute: muting.mute,
    Unmute: muting.unmute,
    Bar: bar,
    SeeThinking: see_thinking,
}
#: The commands that change or end a running match.
UNTIL_FLAG = frozenset(
    {
        Move, Claim, Resign, Abort, OfferDraw, Takeback, Accept, Decline, ClaimWin, CallDraw,
        LetAiPlay, ReclaimSeat, AddTime,
    }
)  # fmt: skip
#: The conditions of what may be permitted while no match is running.
BETWEEN_MATCHES: dict[Permission, Condition] = {
    Sit: sit,
    Stand: stand,
    AddAi: add_ai,
    RemoveAi: remove_ai,
    Rematch: rematch,
    NextGame: next_game,
    Accept: accept,
    Decline: decline,
    Configure: configure,
    Mute: muting.mute,
    Unmute: muting.unmute,
    Bar: bar,
    SeeThinking: see_thinking,
}


def permitted(
    room: Room,
    identity: IdentityId,
    now_ms: int,
    settings: Settings,
    find_absence: FindAbsence = nobody_absent,
) -> tuple[Permission, ...]:
    """The types of the commands that the room accepts from an identity now, with some arguments,
    and the right to see the thinking.

    It leaves out `Move` and `Claim`, since the player to move receives the legal moves and claims,
    and the commands of AI seats and of the server itself.
    """
    if refusal_if_newer(room) is not None:
        return ()
    viewer = viewer_with_absence(room, identity, find_absence)
    types: list[Permission] = []
    conditions = BETWEEN_MATCHES if room.running_match is None else DURING_MATCH
    has_flag_fallen = _has_flag_fallen(room, now_ms)
    for permission, condition in conditions.items():
        try:
            if (
                condition(room, viewer) is None
                and _has_room_for(room, permission)
                and not (has_flag_fallen and permission in UNTIL_FLAG)
            ):
                types.append(permission)
        except GameFault:  # the command would be refused with the same fault, which is logged then
            continue
    if (
        not room.is_muted(identity)
        and not room.is_full
        and chat_limits.next_line_ms(room, identity, now_ms, settings) <= now_ms
    ):
        types.append(Chat)
    return _share(tuple(types))


def _has_room_for(room: Room, permission: Permission) -> bool:
    return permission is SeeThinking or full.refusal_if_full(room, permission) is None


@lru_cache(maxsize=256)
def _share(types: tuple[Permission, ...]) -> tuple[Permission, ...]:
    """Returns an equal tuple that is kept only once, because every player of a room holds one."""
    return types


def next_change_in_ms(
    room: Room,
    identity: IdentityId,
    now_ms: int,
    settings: Settings,
    find_absence: FindAbsence = nobody_absent,
) -> int | None:
    """The time in ms after which `permitted` changes for an identity without an event; None for
    never.

    It changes earlier when players connect and disconnect.
    """
    if refusal_if_newer(room) is not None:
        return None
    waits_ms = [chat_limits.next_line_ms(room, identity, now_ms, settings) - now_ms]
    viewer = viewer_with_absence(room, identity, find_absence)
    absence = viewer.absence
    if absence is not None and _refusal_at_any_time(room, viewer) is None:
        waits_ms.append(absence.claimable_in_ms or 0)
    return min((wait_ms for wait_ms in waits_ms if wait_ms > 0), default=None)


#: The draw offers of a match in which none was made.
NO_DRAW_OFFERS = (-1,) * SEATS


def leaves_permissions_unchanged(
    events: Sequence[RoomEvent], room: Room, is_player_absent: bool
) -> bool:
    """Whether these events, which led to this state of the room, certainly change no result of
    `permitted`, for any identity, if the room was full before them exactly if it is full now.

    `is_player_absent` says whether a player has gone: each move changes who may claim the match.

    It recognizes most moves of a match, and is much faster than `permitted`.
    """
    match = room.match
    return (
        len(events) == 1
        and not is_player_absent
        and type(events[0]) is Moved
        and match is not None
        and match.over is None
        and match.draw_offers == NO_DRAW_OFFERS
        and len(match.moves) - 1 not in match.takeback_requests
        and _has_moved_before(match)
        and room.frozen is None
        and match.position is not None
        and not match.substitutions
        and (match.clock is None or ran_before_last_move(match.clock))
    )


def _has_moved_before(match: Match) -> bool:
    """Whether the side that moved last had chosen the last but one move before, too.

    It then had a move to take back already, and its first move had ended the right to abort. A seat
    is None where it is that of the ply.
    """
    if len(match.moves) <= SEATS:
        return False
    last, earlier = match.moves[-1], match.moves[-1 - SEATS]
    return (last.seat is None) == (earlier.seat is None) and not earlier.forced
