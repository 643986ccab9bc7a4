"""Commands that link to other pages: /analyse, /quiz and /teach. Their answers are private."""

from engine.rules.measured import measured_of
from server.bot.api import Answer, Ask, after_start, command, with_help
from server.rooms.permissions import see_thinking

#: The lesson for a game whose measured file names none.
ANY_LESSON = "alpha-cut"


@command("analyse", "analyses the match when it is over", when=after_start)
def analyse(ask: Ask) -> Answer:
    """Links to the analysis of the match."""
    match = ask.match
    if match is None or match.over is None:
        return Answer("A match can be analysed when it is over.")
    return Answer(f"Every move of this match: /match/{match.id}?analyse")


@command("quiz", "gives you a lesson with questions that fits this game")
def quiz(ask: Ask) -> Answer:
    """Links to a lesson with questions."""
    lesson = (measured_of(ask.game).lesson if ask.game else None) or ANY_LESSON
    return Answer(f"Questions about searches like those for this game: /learn/{lesson}")


@command("teach", "shows a search of this position, step by step", when=with_help)
def teach(ask: Ask) -> Answer:
    """Links to the position in the glass box."""
    match = ask.match
    if match is None:
        return Answer("There is no position yet.")
    refusal = see_thinking(ask.room, ask.viewer)
    if refusal is not None:
        return Answer(refusal.message)
    path = f"/glass?match={match.id}&ply={match.ply}"
    return Answer(f"A search of this position, step by step: {path}")
