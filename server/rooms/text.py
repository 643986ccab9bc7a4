"""Cleans the text that people type for others to read: names and lines of chat.

The properties are those of the Unicode Character Database (UAX #44), of which Python has only some.
"""

import re
from collections.abc import Iterator, Sequence
from unicodedata import category, combining, is_normalized, name, normalize

#: Maximum number of combining marks of a kind on one letter: of nonspacing ones, which stack, and
#: of spacing ones. Hebrew and Tibetan words have up to three, Burmese ones three of each kind.
MAX_MARKS = 3

#: Default_Ignorable_Code_Point (DerivedCoreProperties.txt): no renderer shows these characters.
IGNORABLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: The other characters without ink: the blank of braille, the object replacement character, the
#: fillers of Egyptian and Khitan script, and the null notehead.
BLANKS = frozenset("\u2800\ufffc\U00013441\U00013442\U00016fe4\U0001d159")

_ZWNJ, _ZWJ = "\u200c", "\u200d"
#: The scripts in which a joiner changes the form of the letters beside it, by the first word of
#: their characters' names: those with cursive joining, and those with a virama (UAX #31, 2.3).
_JOINING_SCRIPTS = frozenset({
    "ADLAM", "ARABIC", "BALINESE", "BENGALI", "BRAHMI", "CHAKMA", "DEVANAGARI", "GRANTHA",
    "GUJARATI", "GURMUKHI", "HANIFI", "JAVANESE", "KAITHI", "KANNADA", "KHMER", "MALAYALAM",
    "MANDAIC", "MANICHAEAN", "MEETEI", "MONGOLIAN", "MYANMAR", "NEWA", "NKO", "ORIYA", "PHAGS-PA",
    "SHARADA", "SINHALA", "SOGDIAN", "SUNDANESE", "SYRIAC", "TAI", "TAMIL", "TELUGU", "TIRHUTA",
})  # fmt: skip
#: The canonical combining class of a virama.
_VIRAMA = 9
#: The variation selectors and the vowel separator of Mongolian.
_MONGOLIAN = frozenset("\u180b\u180c\u180d\u180e\u180f")
#: Selectors of the text and of the emoji form, and bases beside the symbols from U+2190 on
#: (emoji-variation-sequences.txt). Digits take them before the enclosing keycap.
_EMOJI_SELECTORS, _EMOJI_BASES = "\ufe0e\ufe0f", "\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030"
_KEYCAP, _KEYCAP_BASES = "\u20e3", "#*0123456789"
#: The scripts whose letters take U+FE00, beside mathematical symbols (StandardizedVariants.txt).
_SELECTING_SCRIPTS = frozenset({"MANICHAEAN", "MYANMAR", "PHAGS-PA"})
#: The tags after a black flag: a region in invisible letters, and a terminator (UTS #51).
_FLAG_TAGS = re.compile(
    "(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
)
_SKIN_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


def clean_text(text: str) -> str:
    """Returns the text on one line, in Normalization Form C, without what nobody can see.

    White space becomes single spaces between words. Characters without ink go: controls,
    bidirectional and all other default ignorable ones, fillers, private and unassigned ones. Of
    them stay those that change what one sees: joiners between letters of the scripts that need
    them and between emoji, and variation selectors and the tags of flags after a base that takes
    them. A letter keeps MAX_MARKS marks of a kind, and a mark without a letter goes. A clean text
    is not changed. Normalization can make a few characters into three.
    """
    if text.isprintable() and (text.isascii() or _is_plain(text)):
        return " ".join(text.split())
    text = "".join(map(_visible, text))
    while True:  # what goes may be what the character before it needed
        cleaned = "".join(_with_few_marks("".join(_without_idle(normalize("NFC", text)))))
        cleaned = normalize("NFC", " ".join(cleaned.split()))
        if cleaned == text:
            return cleaned
        text = cleaned


def cut_text(text: str, limit: int) -> str:
    """The beginning of a clean text, at most `limit` code points; no grapheme is cut in two."""
    end = min(limit, len(text))
    while 0 < end < len(text) and _is_inside_grapheme(text, end):
        end -= 1
    return text[:end].rstrip()


def _is_plain(text: str) -> bool:
    """Whether a printable text is normal and each of its characters can be seen alone."""
    return (
        is_normalized("NFC", text)
        and BLANKS.isdisjoint(text)
        and IGNORABLE.search(text) is None
        and not any(category(c)[0] == "M" for c in text)
    )


def _visible(character: str) -> str:
    """A space for white space; nothing for a character that no neighbour can need; else itself.

    Unprintable are the categories C (other) and Z (separator), except the space.
    """
    if character.isprintable():
        return "" if character in BLANKS else character
    if character.isspace():
        return " "
    return character if IGNORABLE.match(character) else ""


def _without_idle(text: str) -> Iterator[str]:
    """Yields the characters that can be seen, and the ignorable ones that change how."""
    flags = {index for tags in _FLAG_TAGS.finditer(text) for index in range(*tags.span())}
    after, next_visible = "", [""] * len(text)
    for index in range(len(text) - 1, -1, -1):
        next_visible[index] = after
        after = after if IGNORABLE.match(text[index]) else text[index]
    kept: list[str] = []
    for index, character in enumerate(text):
        if (
            IGNORABLE.match(character)
            and index not in flags
            and not (kept and _changes_form(kept, character, next_visible[index]))
        ):
            continue
        kept.append(character)
        yield character


def _changes_form(before: Sequence[str], character: str, after: str) -> bool:
    """Whether an ignorable character changes how its neighbours look."""
    base = before[-1]
    if character in (_ZWNJ, _ZWJ):
        return base not in (_ZWNJ, _ZWJ) and _is_joining(before, character, after)
    if character in _MONGOLIAN:
        return _script(base) == "MONGOLIAN" and base not in _MONGOLIAN
    if character in _EMOJI_SELECTORS:
        is_keycap = base in _KEYCAP_BASES and after == _KEYCAP
        return is_keycap or base in _EMOJI_BASES or _is_symbol(base)
    if character == "\ufe00" and (_script(base) in _SELECTING_SCRIPTS or category(base) == "Sm"):
        return not IGNORABLE.match(base)
    is_ideographic = "\ufe00" <= character <= "\ufe02" or "\U000e0100" <= character <= "\U000e01ef"
    return is_ideographic and _script(base) == "CJK"


def _is_joining(before: Sequence[str], joiner: str, after: str) -> bool:
    """Whether a joiner stands between letters of one script that needs it, or between emoji.

    ZWJ also stands at the end of a word, after a virama: so old texts write Malayalam chillus.
    """
    base, script = before[-1], _script(before[-1])
    if script in _JOINING_SCRIPTS and category(base)[0] in "LM":
        is_between = script == _script(after) and category(after)[0] in "LM"
        return is_between or (joiner == _ZWJ and combining(base) == _VIRAMA)
    emoji = next((c for c in reversed(before) if not _modifies_emoji(c)), "")
    return joiner == _ZWJ and _is_symbol(emoji) and _is_symbol(after)


def _script(character: str) -> str:
    """The first word of a character's name, which is its script for letters and their marks."""
    return name(character, "").split(" ")[0] if character else ""


def _is_symbol(character: str) -> bool:
    """Whether the character is an emoji or another symbol, but no half of a flag."""
    return (
        character >= "\u2190"
        and category(character) in ("So", "Sm")
        and not _is_regional_indicator(character)
    )


def _modifies_emoji(character: str) -> bool:
    return character in _SKIN_TONES or bool(IGNORABLE.match(character))


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _with_few_marks(text: str) -> Iterator[str]:
    """Yields the characters without marks that have no letter, and those beyond MAX_MARKS."""
    has_letter, counts = False, {"Mn": 0, "Mc": 0}
    for character in text:
        kind = category(character)
        if IGNORABLE.match(character):
            pass
        elif kind[0] == "M":
            kind = "Mc" if kind == "Mc" else "Mn"
            counts[kind] += 1
            if not has_letter or counts[kind] > MAX_MARKS:
                continue
        else:
            has_letter, counts = character != " ", {"Mn": 0, "Mc": 0}
        yield character


def _is_inside_grapheme(text: str, index: int) -> bool:
    """Whether a text must not be cut before the character at the index (a part of UAX #29)."""
    before, after = text[index - 1], text[index]
    if _is_regional_indicator(after):
        flags = re.search("[\U0001f1e6-\U0001f1ff]*$", text[:index])
        return flags is not None and len(flags[0]) % 2 == 1
    return before == _ZWJ or category(after)[0] == "M" or _modifies_emoji(after)
