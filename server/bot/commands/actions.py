"""Commands that do something for the asker: /takeback, /draw and /coach."""

from server.bot.api import Act, Answer, Ask, Switch, command, for_players, with_help
from server.commands import OfferDraw, Takeback
from server.rooms import takebacks
from server.rooms.model import Room, Viewer
from server.rooms.refusals import Refusal

#: The switch of the coach.
COACH = "coach"


def for_helped_players(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command of players, where they may have help."""
    return for_players(room, viewer) or with_help(room, viewer)


@command("takeback", "takes your last move back, or asks for it", when=for_players)
def takeback(ask: Ask) -> Act | Answer:
    """Takes the asker's last move back."""
    match, seat = ask.match, ask.viewer.seat
    if match is None or seat is None:
        return Answer("There is no move to take back.")
    is_at_once = takebacks.takes_back_at_once(ask.room, match, seat)
    done = "Your move is taken back." if is_at_once else "Your opponent is asked to agree."
    return Act(Takeback("", match.ply), done)


@command("draw", "offers a draw, or accepts the one that is offered", when=for_players)
def draw(ask: Ask) -> Act:
    """Offers or accepts a draw."""
    seat = ask.viewer.seat
    is_offered = seat is not None and 1 - seat in ask.room.offers
    return Act(OfferDraw(""), "You agree to a draw." if is_offered else "You offer a draw.")


@command(
    COACH,
    "on or off: comments on your moves, for you alone",
    when=for_helped_players,
    conditions=(for_players, with_help),
)
def coach(ask: Ask) -> Switch | Answer:
    """Turns the coach on or off."""
    is_on = COACH in ask.switches
    match ask.words:
        case ("on", *_):
            return Switch(COACH, True, "The coach watches your moves. /coach off ends that.")
        case ("off", *_):
            return Switch(COACH, False, "The coach is off.")
    if is_on:
        return Answer("The coach is on and comments on your moves. /coach off ends that.")
    return Answer("The coach is off. /coach on lets it comment on your moves, for you alone.")
