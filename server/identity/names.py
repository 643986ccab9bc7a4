"""Cleans the names of guests, and refuses names that people could take for an AI's.

A name shows whether a person or an AI holds a seat: "AI level 5", "AI swindler". So guests may not
have names that begin with "AI level", or with CP and a number ("CP #1 MiniMax depth=3"); "AI" with
the name of a persona; and AI, CP, CPU and Computer, alone or with a number. Case, spacing,
punctuation and look-alike letters make no difference. "Ai Weiwei" and "Al" are allowed.
"""

import re
import unicodedata

from engine.search.job import PERSONAS
from server.codes import Code
from server.protocol.messages import MAX_NAME
from server.rooms.model import CommandRejected
from server.rooms.text import clean_text

#: Cyrillic and Greek lower-case letters that look like Latin ones.
_LOOKALIKES = str.maketrans("аіӏсеорѕυѵαιοερν", "ailceopsuvaioepv")
#: Characters that look like an i: "Al leve1 5".
_I_LOOKALIKES = str.maketrans("l1", "ii")


def _normalized(name: str) -> str:
    """Returns the lower-case letters and digits of a name, without accents and look-alikes."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in parts.translate(_LOOKALIKES) if c.isalnum())


#: Names that are refused as a whole, and those of strategies.
_WHOLE_NAME = re.compile(r"(ai|cpu?|computer)\d*|cp\d.*")
#: The beginning of names that are refused.
_PREFIX = "ailevel".translate(_I_LOOKALIKES)
#: The names of AI seats with a persona.
_PERSONAS = frozenset(f"ai{persona}".translate(_I_LOOKALIKES) for persona in PERSONAS)


def is_ai_name(name: str) -> bool:
    """Whether people could take a guest with this name for an AI."""
    normalized = _normalized(name)
    folded = normalized.translate(_I_LOOKALIKES)
    return (
        bool(_WHOLE_NAME.fullmatch(normalized)) or folded.startswith(_PREFIX) or folded in _PERSONAS
    )


def clean_name(name: str) -> str:
    """Returns the name on one line, without invisible characters.

    Raises CommandRejected if the result is empty, too long, or could be taken for an AI's name.
    """
    cleaned = clean_text(name)
    if not cleaned or len(cleaned) > MAX_NAME:
        raise CommandRejected(Code.NAME_REFUSED, f"a name has 1 to {MAX_NAME} visible characters")
    if is_ai_name(cleaned):
        raise CommandRejected(
            Code.NAME_REFUSED, "names like those of an AI (AI level 5, CP #1) are reserved"
        )
    return cleaned
