"""Questions to the room's bot: lines of chat that begin with `/`, a few plain questions, and lines
that name the bot.

A plain question counts only in a room with an AI, or where it names the bot ("@bot", "bot, ..."):
elsewhere it is for the other people. A line that names the bot only after other words is for them
too, and the bot reads what follows its name.
"""

import re

from msgspec import Struct

#: A line that begins with `/` and a word.
_COMMAND = re.compile(r"/([a-zA-Z][\w-]*)(?: (.*))?")
#: The signs that begin a line to the bot: a slash, and that of wide letters.
_SLASHES = ("/", "\N{FULLWIDTH SOLIDUS}")
#: A line that begins with a call of the bot: "@bot", "bot," or "Plyroom,", also after a greeting;
#: and a question that begins with its name.
_CALL = re.compile(
    r"(?:(?:hello|hey|hi|ok|okay|please)[\s,]+)?(?:@(?:bot|plyroom)\b|(?:bot|plyroom)\s*[,:!?]).*"
    r"|(?:hello|hey|hi)[\s,]+(?:bot|plyroom)\b.*"
    r"|plyroom\b.*\?",
    re.IGNORECASE,
)
#: A call within a line to other people, and what follows it.
_MENTION = re.compile(r".*?\s@(?:bot|plyroom)\b(.*)", re.IGNORECASE)
#: The command of a line that names the bot and is no question that it knows.
UNKNOWN = ""
#: A word of a plain question.
_WORD = re.compile(r"[a-z']+")

#: Words that mean nothing at the beginning or at the end of a plain question.
_FILLERS = {
    "and", "bot", "but", "computer", "hello", "here", "hey", "hi", "now", "ok", "okay", "please",
    "plyroom", "so", "thanks", "then", "well",
}  # fmt: skip

#: The plain questions of each command, in lower case and without punctuation. No plain question
#: means a command that changes the room: those are explained only.
PLAIN_QUESTIONS: dict[str, tuple[str, ...]] = {
    "why": (
        "explain that move",
        "explain your move",
        "what was that",
        "why",
        "why did you do that",
        "why did you make that move",
        "why did you move there",
        "why did you play that",
        "why did you play this",
        "why that",
        "why that move",
        "why this move",
    ),
    "hint": (
        "a hint",
        "and now",
        "any ideas",
        "can i have a hint",
        "can you help me",
        "give me a hint",
        "help me",
        "hint",
        "i am stuck",
        "i need a hint",
        "i'm stuck",
        "now what",
        "what can i do",
        "what do i do",
        "what next",
        "what now",
        "what shall i do",
        "what should i do",
        "what should i move",
        "what should i play",
        "what to do",
        "where should i go",
        "where should i move",
        "where should i play",
        "which move should i play",
    ),
    "best": (
        "best move",
        "show me the best move",
        "what is best",
        "what is the best move",
        "what would you do",
        "what would you play",
        "what's best",
        "what's the best move",
    ),
    "eval": (
        "am i ahead",
        "am i behind",
        "am i losing",
        "am i winning",
        "are you winning",
        "how am i doing",
        "how good is my position",
        "how is my position",
        "is my position good",
        "what are my chances",
        "who is ahead",
        "who is better",
        "who is winning",
        "who wins",
        "who's ahead",
        "who's better",
        "who's winning",
    ),
    "threat": (
        "what are you planning",
        "what are you threatening",
        "what do you threaten",
        "what is the threat",
        "what is your plan",
        "what is your threat",
        "what will you play",
        "what's the threat",
        "what's your plan",
    ),
    "rules": (
        "how do i play",
        "how do i play this",
        "how do you play this",
        "how does this game work",
        "how does this work",
        "what are the rules",
    ),
    "rules goal": (
        "how can i win",
        "how do i win",
        "how do i win this",
        "how do you win",
        "how does one win",
        "what is the aim",
        "what is the goal",
        "what's the goal",
    ),
    "level": (
        "are you strong",
        "how good are you",
        "how strong are you",
        "what level are you",
        "which level are you",
    ),
    "persona": (
        "are you a bot",
        "are you a computer",
        "are you human",
        "what are you",
        "who am i playing",
        "who are you",
    ),
    "help": ("help", "what can i ask", "what can i say", "what can you do"),
    "help takeback": (
        "can i take a move back",
        "can i take back a move",
        "can i take back my move",
        "can i take it back",
        "can i take my move back",
        "can i take that back",
        "can i undo that",
        "how can i take back a move",
        "how do i take a move back",
        "how do i take back a move",
        "how do i take back my move",
        "how do i take my move back",
        "how do i undo",
        "how do i undo a move",
        "how do i undo my move",
        "take it back",
        "take that back",
        "undo",
    ),
    "help draw": ("can we draw", "do you want a draw", "how do i offer a draw"),
    "coach": (
        "did i make a mistake",
        "how can i get better",
        "teach me",
        "was that a good move",
        "was that a mistake",
        "was that bad",
        "was that good",
    ),
    "clock": (
        "do we have a clock",
        "how long do i have",
        "how much time",
        "how much time do i have",
        "how much time do i have left",
        "how much time do we have",
        "how much time do you have",
        "how much time does my opponent have",
        "how much time have i got",
        "how much time have i left",
        "how much time is left",
        "is there a clock",
        "what is the time control",
        "what is the time limit",
        "what's the time control",
    ),
    "analyse": (
        "can you analyse this match",
        "can you analyze this match",
        "how did i lose",
        "what did i do wrong",
        "what was my mistake",
        "where did i go wrong",
        "why did i lose",
    ),
}
_COMMANDS = {
    question: command for command, questions in PLAIN_QUESTIONS.items() for question in questions
}


class Question(Struct, frozen=True):
    """A question to the bot: the name of a command, and the words after it."""

    command: str
    words: tuple[str, ...] = ()


def is_addressed(text: str) -> bool:
    """Whether a line of chat is for the bot alone: it begins with a slash, or with a call."""
    return text.startswith(_SLASHES) or _CALL.fullmatch(text) is not None


def words_to_bot(text: str) -> str:
    """Returns what a line says to the bot: what follows a call within a line to other people, and
    otherwise, or where no word follows, all of it.
    """
    mention = None if is_addressed(text) else _MENTION.fullmatch(text)
    return mention[1].strip() if mention and _WORD.search(mention[1].lower()) else text


def parse_question(text: str, has_ai: bool) -> Question | None:
    """Returns the question that a line of chat asks; None for any other line.

    `has_ai` says whether an AI has a seat in the room. A line that names the bot is always a
    question: its command is UNKNOWN where it is no plain one. So is a line that begins with `/` and
    not with a word after it: it was meant for the bot, and must not be read by others.
    """
    if text.startswith(_SLASHES):
        match = _COMMAND.fullmatch("/" + text.lstrip("".join(_SLASHES) + " "))
        return (
            Question(match[1].lower(), tuple((match[2] or "").split()))
            if match
            else Question(UNKNOWN)
        )
    names_bot = any(pattern.fullmatch(text) for pattern in (_CALL, _MENTION))
    question = _plain_question(words_to_bot(text)) if has_ai or names_bot else None
    return Question(UNKNOWN) if question is None and names_bot else question


def _plain_question(text: str) -> Question | None:
    """The plain question in a line, between words that mean nothing."""
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    for start in range(len(words)):
        for end in range(len(words), start, -1):
            if command := _COMMANDS.get(" ".join(words[start:end])):
                name, *rest = command.split()
                return Question(name, tuple(rest))
            if words[end - 1] not in _FILLERS:
                break
        if words[start] not in _FILLERS:
            break
    return None
