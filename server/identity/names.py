"""Names that no guest may have: those that the server gives to AI seats, and what passes for one.

A seat's occupant is a person or an AI, and people see that by the name: "AI level 5", "AI
swindler". So are refused, in any case, spacing and punctuation, and with letters that look alike:
whatever begins with "AI level"; "AI" with the name of a persona; and AI, CP, CPU and Computer alone
or with a number ("CP #1"). "Ai Weiwei" and "Al" are names.
"""

import re
import unicodedata

from engine.search.job import PERSONAS

#: Small letters of Cyrillic and Greek that look like Latin ones.
_TWINS = str.maketrans("аіӏсеорѕυѵαιοερν", "ailceopsuvaioepv")
#: Letters that pass for an i: "Al leve1 5".
_STROKES = str.maketrans("l1", "ii")


def _plain(name: str) -> str:
    """Small Latin letters and digits only: NFKC, without marks, look-alikes made one."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in parts.translate(_TWINS) if c.isalnum())


_ALONE = re.compile(r"(ai|cpu?|computer)\d*")
_PREFIX = "ailevel".translate(_STROKES)
_PERSONAS = frozenset(f"ai{persona}".translate(_STROKES) for persona in PERSONAS)


def is_ai_name(name: str) -> bool:
    """Whether people would take a guest of that name for an AI."""
    plain = _plain(name)
    strokes = plain.translate(_STROKES)
    return bool(_ALONE.fullmatch(plain)) or strokes.startswith(_PREFIX) or strokes in _PERSONAS
