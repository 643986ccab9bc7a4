"""Commands about the room: /help, /rules, /level, /persona and /clock. All answers are private."""

from msgspec.structs import replace

from server.bot import registry
from server.bot.api import Answer, Ask, command
from server.bot.explanations.rules_text import find_passage, flow
from server.events import Occupant
from server.protocol.level_names import level_names
from server.rooms.clock import available_ms, sides_at
from server.rooms.model import Match
from server.rooms.moves import side_name
from server.time_controls import describe_control, show_control, show_side, show_time

#: The words of /rules that ask for the goal alone. It is in each game's data: the text of its rules
#: may not have the word "goal".
GOAL = ("goal",)
#: How each persona plays.
PERSONA_TEXTS = {
    "average": "expects you to play any move, good or bad, and plays for the best average",
    "swindler": "picks, among the good moves, the one after which you can err most",
    "random": "plays any legal move",
}


@command("help", "lists the commands, or explains one: /help why")
def help_(ask: Ask) -> Answer:
    """Lists the commands that are allowed now, or says what one does."""
    commands = registry.all_commands()
    if ask.words:
        name = ask.words[0].lower().removeprefix("/")
        if name not in commands:
            return Answer(f"There is no /{name}. Try /{registry.nearest_command(name)}.")
        refusal = commands[name].when(ask.room, ask.viewer)
        note = "" if refusal is None else f" Not now: {refusal.message}."
        return Answer(f"/{name} {commands[name].about}.{note}")
    allowed = [each for each in commands.values() if each.when(ask.room, ask.viewer) is None]
    lines = [f"/{each.name} {each.about}" for each in allowed]
    return Answer("\n".join(["You may ask:", *lines]))


@command("rules", "says how the game is played; /rules WORD says what they say about it")
def rules(ask: Ask) -> Answer:
    """Gives the rules of the game, or what they say about the words after the command."""
    if ask.game is None:
        return Answer("This server does not have the game of this room.")
    text = ask.game.rules.RULES
    if not ask.words:
        return Answer(f"{ask.game.title}\n{flow(text)}")
    if tuple(map(str.lower, ask.words)) == GOAL:
        return Answer(f"{ask.game.goal}\n/rules gives all rules.")
    words = " ".join(ask.words)
    passage = find_passage(text, words)
    if passage is None:
        return Answer(f'The rules of {ask.game.title} do not say "{words}". /rules gives them all.')
    return Answer(f"{passage}\n/rules gives all rules.")


@command("level", "says how strong the AI plays", is_about_ai=True)
def level(ask: Ask) -> Answer:
    """Says at which level each AI plays."""
    lines = [_strength(seat, ask) for seat in _ai_seats(ask)]
    return Answer("\n".join(lines) or "No AI plays here.")


@command("persona", "says who the AI is", is_about_ai=True)
def persona(ask: Ask) -> Answer:
    """Says how each AI chooses its moves."""
    lines = [_character(seat, ask) for seat in _ai_seats(ask)]
    return Answer("\n".join(lines) or "No AI plays here: all players are people.")


@command("clock", "says how much time is left")
def clock(ask: Ask) -> Answer:
    """Says what both clocks show, and what the time control gives."""
    match = ask.match
    if match is None or match.clock is None:
        if ask.room.control is None:
            return Answer("This room has no clock. Take as long as you like.")
        control = ask.room.control
        name, described = show_control(control), describe_control(control)
        return Answer(f"The next match has the clock {name}: {described}.")
    control, sides = match.clock.control, sides_at(match.clock, ask.at_ms)
    if match.over is not None and (final_ms := match.over.clocks_ms) is not None:
        first, second = sides
        sides = replace(first, left_ms=final_ms[0]), replace(second, left_ms=final_ms[1])
    has = [
        f"{side_name(ask.room, seat)} has"
        f" {show_side(control, side.left_ms, side.stage, side.periods)}"
        for seat, side in enumerate(sides)
    ]
    texts = [f"{', '.join(has)}.", _clock_state(ask, match)]
    texts.append(f"The clock is {show_control(control)}: {describe_control(control)}.")
    return Answer(" ".join(filter(None, texts)))


def _clock_state(ask: Ask, match: Match) -> str:
    """Whose clock runs, or why none does; "" after the match."""
    clock = match.clock
    if clock is None or match.over is not None:
        return ""
    if clock.held is not None:
        return "The clock stands now, so nobody loses time."
    if clock.runs:
        return f"{side_name(ask.room, clock.turn)} is to move."
    due_ms = max(0, clock.since_ms + available_ms(clock) - ask.at_ms)
    return (
        "The clock starts when both sides have moved;"
        f" {side_name(ask.room, clock.turn)} has to move within {show_time(due_ms)}."
    )


def _ai_seats(ask: Ask) -> list[Occupant]:
    return [seat for seat in ask.room.seats if seat is not None and seat.kind == "ai"]


def _strength(seat: Occupant, ask: Ask) -> str:
    """How strong an AI plays, in a sentence."""
    if seat.strategy is not None:
        depth = "" if seat.depth is None else f" and looks {_plies(seat.depth)} ahead"
        return f"{seat.name} has no level: it plays by the strategy {seat.strategy}{depth}."
    if seat.level is None or ask.game is None:
        return f"{seat.name} has no level."
    names = level_names(ask.game.levels)
    name = f" ({names[seat.level - 1]})" if 0 < seat.level <= len(names) else ""
    return f"The AI plays at level {seat.level} of {ask.game.levels}{name}."


def _character(seat: Occupant, ask: Ask) -> str:
    if seat.persona is not None:
        return f"{seat.name} {PERSONA_TEXTS.get(seat.persona, 'has a style of its own')}."
    if seat.kept_for is not None:
        return f"{_strength(seat, ask)} It keeps the seat for {seat.kept_for.name}."
    return _strength(seat, ask)


def _plies(count: int) -> str:
    return "1 ply" if count == 1 else f"{count} plies"
