"""The names that people give themselves, and those that are nobody's.

A name shows who speaks and who plays: a person, the room's bot, or an AI ("AI level 5", "CP #1
MiniMax depth=3"). So no person may have the name of the server or of its bot, of an AI, of a level
without its AI ("Level 5" in sentences), of a strategy or a persona, or a name that looks like one
of them. "Ai Weiwei", "Levi" and "Guest 1234" are allowed: several people may have one name, and a
room tells them apart.
"""

# ruff: noqa: RUF001, RUF003 (the look-alikes are ambiguous letters)

import re
import unicodedata
from functools import cache, lru_cache
from zlib import crc32

from engine.search.job import PERSONAS
from engine.strategies.names import title_of
from engine.strategies.registry import strategy_names
from server.codes import Code
from server.rooms.model import BOT_NAME, CommandRejected
from server.rooms.text import clean_text

#: Maximum length of a person's name, in code points.
MAX_NAME = 24


def clean_name(name: str) -> str:
    """Returns a name as others may see it.

    Raises CommandRejected if nothing visible is left, if it is too long, and if it is reserved.
    """
    cleaned = clean_text(name)
    if not cleaned or len(cleaned) > MAX_NAME:
        raise CommandRejected(Code.NAME_REFUSED, f"a name has 1 to {MAX_NAME} visible characters")
    if is_reserved(cleaned):
        raise CommandRejected(
            Code.NAME_REFUSED,
            f"names like those of {BOT_NAME}, its bot, an AI (AI level 5, CP #1), a level or a"
            " strategy are reserved; choose another name",
        )
    return cleaned


@lru_cache(4096)
def shown_name(identity: str, name: str) -> str:
    """A stored name as others may see it: clean, or "Guest 1234" for one that is now refused.

    Earlier versions allowed more names. The number is always the same for an identity.
    """
    cleaned = clean_text(name)
    if not cleaned or is_reserved(cleaned):
        return f"Guest {crc32(identity.encode()) % 9000 + 1000}"
    return cleaned


# --- names that are nobody's ---

#: Names for the server, its bot and its AIs, which may also have a number behind them.
_WORDS = (
    "bot", "the bot", "room bot", "room's bot", "the room's bot", "server", "system", "admin",
    "administrator", "moderator", "cp", "cpu", "computer",
)  # fmt: skip
#: Names that need their exact letters, because "Al", "Ali" and "Cpl. Smith" are people.
_EXACT = re.compile(r"(the)?ai\d*|cp\d.*|(ai)?(level|lvl|lv)\d.*")
#: The characters that look like another one: l and 1 like i, 0 like o.
_FOLD = str.maketrans("l10", "iio")
#: The digits that stand for letters, as in "5erver" and "Lev3l 5".
_DIGITS = str.maketrans("345678", "easgtb")
_DIGITS_BEFORE_LETTERS = re.compile(".*[a-z]")
#: A number after folding, in words and in Roman digits too.
_NUMBER = "([io2-9]+|[ivx]+|one|two|three|four|five|six|seven|eight|nine|ten)"


def is_reserved(name: str) -> bool:
    """Whether people could take a person with this name for the server, its bot or an AI."""
    letters = _skeleton(name)
    words, pattern = _reserved()
    return bool(_EXACT.fullmatch(letters)) or any(
        _folded(text.rstrip("0123456789")) in words
        or _folded(text) in words
        or bool(pattern.search(_folded(text)))
        for text in {letters, _with_letters(letters), letters.translate(_DIGITS)}
    )


@cache
def _reserved() -> tuple[frozenset[str], re.Pattern[str]]:
    """The folded names that are reserved as a whole, and a pattern of those that begin with or
    contain something reserved.
    """
    strategies = [*strategy_names(), *map(title_of, strategy_names())]
    personas = [f"{before}{persona}" for persona in PERSONAS for before in ("", "the ", "AI ")]
    words = frozenset(_folded(_skeleton(word)) for word in (*_WORDS, *strategies, *personas))
    titles = "|".join(sorted({re.escape(_folded(_skeleton(title))) for title in strategies}))
    product, ai, level, depth = (
        _folded(_skeleton(text)) for text in (BOT_NAME, "AI level", "level", "depth")
    )
    return words, re.compile(
        f"{product}|^{ai}|^{level}(no|nr)?{_NUMBER}$|^cp{_NUMBER}({titles})"
        f"|^({titles}){depth}([io]*[2-9]|{_NUMBER}$)"
    )


def _folded(skeleton: str) -> str:
    """A skeleton in which letters and digits that look alike are the same."""
    return skeleton.translate(_FOLD).replace("rn", "m")


def _with_letters(skeleton: str) -> str:
    """A skeleton with letters in place of digits, but not of the number behind the last letter."""
    return _DIGITS_BEFORE_LETTERS.sub(lambda match: match[0].translate(_DIGITS), skeleton, count=1)


#: Letters of other scripts, and symbols, that look like a Latin letter: a part of confusables.txt
#: (UTS #39). Both cases stand here, because "Η" and "η" look like different letters.
_LOOKALIKES = {
    ord(character): latin
    for latin, characters in {
        "a": "ΑαАаɑᎪꓮ@ΛᗩⲀⲁ∀",
        "b": "ΒβВЬьᏴꓐᗷⲂßẞ",
        "c": "ϹϲСсᏟꓚ¢ᑕⲤⲥ",
        "d": "ԀԁᎠꓓᗞᗪ",
        "e": "ΕεЕеҽᎬꓰ€Ⲉⲉ∈",
        "f": "ϜҒꓝᖴ",
        "g": "ԌցᏀꓖ",
        "h": "ΗНһհᎻꓧᕼⲎ",
        "i": "ΙιІіӀӏוןاᏆꓲ|!ߊⵏⲒǀ∣│¡",
        "j": "ЈјյᎫꓙᒍ",
        "k": "ΚκКкᏦꓗⲔ",
        "l": "ԼᏞꓡ£ᒪⳐ",
        "m": "ΜМмᎷꓟᗰⲘ",
        "n": "ΝηПпոռꓠⲚ",
        "o": "ΟοσОоՕօסہᎾꓳהⲞⲟⵔዐଠㅇ〇○◯●◌ʘ°",
        "p": "ΡρРрᏢꓑᑭⲢⲣÞþ₽",
        "q": "Ԛԛզգ",
        "r": "ГгᏒᎡꓣҐґᖇ",
        "s": "ЅѕՏᏚꓢ$§ᔕႽ",
        "t": "ΤτТтᎢꓔⲦ†",
        "u": "υսՍꓴᑌ",
        "v": "νѴѵᏙꓦᐯ",
        "w": "ωԜԝաᎳꓪᗯ",
        "x": "ΧχХхꓫ᙭Ⲭ×",
        "y": "ΥγУуҮүᎩᎽꓬ¥Ⲩყ",
        "z": "ΖᏃꓜⲌ",
    }.items()
    for character in characters
}  # fmt: skip
#: The name of a letter that is a Latin one in another form, as in "ʟ" and "ø" and in symbols.
_LATIN = re.compile(r"(?:LATIN|REGIONAL INDICATOR) .*?LETTER (?:[A-Z]+ )*?([A-Z])(?: WITH .*)?$")


def _skeleton(name: str) -> str:
    """The letters and digits of a name, in lower case and, as far as they look so, Latin ones."""
    compatible = unicodedata.normalize("NFKD", clean_text(name)).translate(_LOOKALIKES)
    return "".join(map(_letter, unicodedata.normalize("NFKD", compatible.casefold())))


@lru_cache(1024)
def _letter(character: str) -> str:
    """The Latin letter or the digit that a character shows; "" for a mark, symbol or space."""
    if character.isascii():
        return character if character.isalnum() else ""
    if (number := unicodedata.digit(character, None)) is not None:
        return str(number)
    latin = _LATIN.search(unicodedata.name(character, ""))
    if latin is not None:
        return latin[1].lower()
    return character if character.isalnum() else ""
