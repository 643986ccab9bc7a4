"""Questions to the room's bot: lines of chat that begin with `/`, and a few plain questions.

A plain question counts only in a room with an AI: elsewhere it is for the other people.
"""

import re

from msgspec import Struct

#: A line that begins with `/` and a word.
_COMMAND = re.compile(r"/([a-zA-Z][\w-]*)(?: (.*))?")
#: A word of a plain question.
_WORD = re.compile(r"[a-z']+")

#: The plain questions of each command, in lower case and without punctuation. No plain question
#: means a command that changes the room.
PLAIN_QUESTIONS: dict[str, tuple[str, ...]] = {
    "why": (
        "why",
        "why that",
        "why that move",
        "why this move",
        "why did you do that",
        "why did you play that",
        "why did you play this",
    ),
    "hint": (
        "a hint please",
        "give me a hint",
        "help me",
        "what should i do",
        "what should i play",
    ),
    "best": ("what is best", "what is the best move", "what's the best move"),
    "eval": ("am i losing", "am i winning", "how am i doing", "who is better", "who is winning"),
    "threat": (
        "what are you threatening",
        "what do you threaten",
        "what is the threat",
        "what is your threat",
    ),
    "rules": ("how do i play", "how do i win", "what are the rules"),
    "level": ("how strong are you", "what level are you", "which level are you"),
    "persona": ("what are you", "who are you"),
    "help": ("what can i ask", "what can you do"),
    "clock": ("how much time do i have", "is there a clock"),
    "analyse": ("where did i go wrong", "can you analyse this match"),
}
_COMMANDS = {
    question: command for command, questions in PLAIN_QUESTIONS.items() for question in questions
}


class Question(Struct, frozen=True):
    """A question to the bot: the name of a command, and the words after it."""

    command: str
    words: tuple[str, ...] = ()


def parse_question(text: str, has_ai: bool) -> Question | None:
    """Returns the question that a line of chat asks; None for any other line.

    `has_ai` says whether an AI has a seat in the room.
    """
    if text.startswith("/"):
        match = _COMMAND.fullmatch(text)
        return match and Question(match[1].lower(), tuple((match[2] or "").split()))
    if not has_ai:
        return None
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    command = _COMMANDS.get(" ".join(words))
    return None if command is None else Question(command)
