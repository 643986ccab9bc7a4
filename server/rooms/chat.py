"""The rules of a room's chat: lines of people, lines of the room's bot, and muting."""

from server.codes import Code
from server.commands import MAX_CHAT, BotLine, Chat, Command, Mute, Unmute
from server.events import Muted, RoomEvent, Said, Unmuted
from server.questions import UNKNOWN, is_addressed, parse_question
from server.rooms import muting
from server.rooms.chat_limits import check_private_limits, check_question_limits, check_repeat
from server.rooms.chat_limits import check_rate_limits as check_rate_limits
from server.rooms.model import (
    AUTHOR_ONLY,
    BOT,
    ActorKind,
    CommandRejected,
    Moment,
    QuestionKind,
    Room,
    Rule,
)
from server.rooms.muting import people_to_mute
from server.rooms.permissions import check, viewer_of
from server.rooms.refusals import MUTED
from server.rooms.text import clean_text, cut_text

#: Least age of an identity whose lines may have links, in ms.
LINKS_AGE_MS = 24 * 3_600_000
#: Maximum length of a line of the bot, in characters.
MAX_BOT_LINE = 1000
#: The kind of a line that asks the bot nothing.
PUBLIC_LINE = QuestionKind(private=False)


def say(room: Room, command: Chat, moment: Moment) -> list[RoomEvent]:
    actor, settings = moment.actor, moment.settings
    if room.is_muted(actor.identity):
        check(MUTED)
    text = cut_text(clean_text(command.text), MAX_CHAT)
    question = parse_question(text, room.has_ai)
    kind = PUBLIC_LINE
    if question is not None:
        viewer = viewer_of(room, actor.identity)
        kind = moment.kind_of_question(room, viewer, question.command)
    is_private = kind.private and is_addressed(text)
    if is_private:
        check_private_limits(room, actor.identity, moment.now_ms, settings)
    else:
        limits = settings.limit_chat, settings.limit_chat_room
        check_rate_limits(room, actor.identity, moment.now_ms, *limits)
    if not text:
        raise CommandRejected(Code.CHAT_EMPTY, "the line is empty")
    if command.to == "spectators" and room.has_player(actor.identity):
        raise CommandRejected(Code.SEAT_ALREADY, "players talk to the whole room")
    if question is None or (question.command == UNKNOWN and not is_private):
        check_repeat(room, actor.identity, text, settings.limit_chat_repeats)
    elif not kind.cheap:  # a person may repeat a question
        check_question_limits(room, actor.identity, moment.now_ms, settings)
    name = room.player_name(actor.identity) or actor.name
    to = AUTHOR_ONLY if is_private else command.to
    links = _may_link(moment)
    return [Said(actor.identity, name, text, to, links=links, cheap=kind.cheap)]


def _may_link(moment: Moment) -> bool:
    """Whether the addresses in the actor's lines may be links."""
    since_ms = moment.actor.since_ms
    return since_ms is not None and moment.now_ms - since_ms >= LINKS_AGE_MS


def say_as_bot(room: Room, command: BotLine, moment: Moment) -> list[RoomEvent]:
    """Returns the event of the bot's answer to a line.

    Raises CommandRejected if the line has an answer, or is not in the log.
    """
    if moment.actor.kind is not ActorKind.BOT:
        raise CommandRejected(Code.SEAT_NONE, "only the bot speaks for the bot")
    if not 0 < command.answers <= room.v:
        raise CommandRejected(Code.MESSAGE_MALFORMED, f"there is no line {command.answers}")
    if is_answered(room, command.answers):
        raise CommandRejected(Code.CHAT_REPEATED, "the bot has answered that line")
    text = cut_text(clean_text(command.text), MAX_BOT_LINE)
    return [Said(BOT.identity, BOT.name, text, command.to, by="bot", answers=command.answers)]


def is_answered(room: Room, v: int) -> bool:
    """Whether one of the lines in memory answers the line with this version."""
    return any(line.answers == v for line in room.chat)


def mute(room: Room, command: Mute, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(muting.mute(room, viewer, command.identity))
    [person] = people_to_mute(room, command.identity)
    return [Muted(person.identity, person.name)]


def unmute(room: Room, command: Unmute, moment: Moment) -> list[RoomEvent]:
    viewer = viewer_of(room, moment.actor.identity)
    check(muting.unmute(room, viewer, command.identity))
    [name] = [each.name for each in room.muted if each.identity == command.identity]
    return [Unmuted(command.identity, name)]


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Chat: say,
    BotLine: say_as_bot,
    Mute: mute,
    Unmute: unmute,
}
