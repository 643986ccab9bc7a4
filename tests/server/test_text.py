"""server/rooms/text.py: the cleaning of text that people type."""

import sys
import unicodedata
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.commands import MAX_CHAT
from server.rooms.text import BLANKS, IGNORABLE, MAX_MARKS, clean_text, cut_text

VIRAMA, ZWNJ, ZWJ, VS16 = "\u094d", "\u200c", "\u200d", "\ufe0f"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

#: Ordinary characters, and characters that are removed, replaced, composed or kept only in places.
AWKWARD = (
    *"aI1l \t\n\u0301\u0308\u200b\u202e\u2066\ufeff\u3000\x00\x85\ud800\ufb01\u0958\u3164\u2800",
    *"\u0915\u0930\u0645\u06cc\u1820\u908a\u2764", VIRAMA, ZWNJ, ZWJ, VS16, "\ufe00", "\u180b",
    "\U000e0100", "\U0001f1e9", "\U0001f3fd", "\U0001f3f4", "\U000e0067", "\U000e007f", ENGLAND,
    "A\u0301" + 5 * "\u0334", "1\ufe0f\u20e3",
)  # fmt: skip
#: Any text that a client may send, also with lone surrogates, and often with AWKWARD parts.
TYPED = st.lists(
    st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(codec=None), max_size=4)),
    max_size=MAX_CHAT // 4,
).map("".join)


def is_without_ink(character: str) -> bool:
    """Returns whether nobody can see the character, by its properties alone."""
    return (
        unicodedata.category(character)[0] in "CZ"
        or character in BLANKS
        or bool(IGNORABLE.match(character))
    )


def is_mark(character: str) -> bool:
    """Returns whether the character combines with a letter before it."""
    return unicodedata.category(character)[0] == "M"


@given(TYPED)
def test_cleaning_is_idempotent_and_normal(text: str) -> None:
    """A clean text is in Normalization Form C, and cleaning it changes nothing."""
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned == unicodedata.normalize("NFC", cleaned)
    cleaned.encode()


@given(TYPED)
def test_only_what_changes_a_neighbour_is_without_ink(text: str) -> None:
    """The characters without ink in a clean text are single spaces between words, and joiners,
    selectors and tags behind something visible, never two joiners or selectors in a row.
    """
    cleaned = clean_text(text)
    assert all(cleaned.split(" ")) or cleaned == ""
    for before, character in zip(f" {cleaned}", cleaned, strict=False):
        if character != " " and is_without_ink(character):
            assert IGNORABLE.match(character)
            assert before != " "
            assert "\U000e0020" <= character <= "\U000e007f" or not IGNORABLE.match(before) or (
                before in "\ufe0e\ufe0f" and character == ZWJ
            ) or before == "\U000e007f"  # fmt: skip


@given(TYPED)
def test_every_visible_character_is_left(text: str) -> None:
    """All characters with ink stay, in their order; only a letter's marks may go."""
    visible = [c for c in text if not is_without_ink(c) and not is_mark(c)]
    left = [c for c in clean_text(text) if not is_without_ink(c)]
    normal = [c for c in unicodedata.normalize("NFD", "".join(visible)) if not is_mark(c)]
    assert [c for c in unicodedata.normalize("NFD", "".join(left)) if not is_mark(c)] == normal


@given(TYPED)
def test_a_letter_has_few_marks(text: str) -> None:
    """No more than MAX_MARKS marks of a kind follow each other, and none begins a word."""
    for word in clean_text(text).split(" "):
        inked = [c for c in word if not IGNORABLE.match(c)]
        assert not inked or not is_mark(inked[0])
        for marks, group in groupby(inked, is_mark):
            kinds = [unicodedata.category(c) == "Mc" for c in group]
            assert not marks or max(kinds.count(True), kinds.count(False)) <= MAX_MARKS


def test_every_character_alone() -> None:
    """Of all characters exactly those without ink are removed, and marks without a letter."""
    unknown = []
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            unknown.append(character)
            continue
        is_left = not is_without_ink(character) and not is_mark(character)
        expected = unicodedata.normalize("NFC", character) if is_left else ""
        assert clean_text(character) == expected, ascii(character)
    assert clean_text("".join(unknown)) == ""


def test_no_ignorable_character_joins_latin_letters() -> None:
    """Between Latin letters every character without ink goes, so that no two names look alike."""
    for character in [*BLANKS, *IGNORABLE.findall("".join(map(chr, range(sys.maxunicode + 1))))]:
        assert clean_text(f"An{character}n") == "Ann", ascii(character)


@pytest.mark.parametrize(
    "kept",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, a joiner between letters
        "\u0995\u09cd\u200d\u09b7", "\u09b0\u200d\u09cd\u09af\u09be\u09ac",  # Bengali
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala
        "\u0d2e\u0d4b\u0d39\u0d28\u0d4d\u200d",  # an old Malayalam chillu, at the end of a word
        "\u182e\u1823\u1829\u182d\u1823\u182f\u180e\u1820",  # Mongolian, a vowel separator
        "\u908a\U000e0100", "\u845b\ufe00",  # Japanese, variants of a name's ideograph
        FAMILY, ENGLAND, "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f469\U0001f3fd\u200d\U0001f680",
        "\u2764\ufe0f\u200d\U0001f525", "1\ufe0f\u20e3", "\u263a\ufe0e", "\u00a9\ufe0f",
        "\U0001f642\u200d\u2194\ufe0f", "\U0001f1e9\U0001f1ea",
    ],
)  # fmt: skip
def test_joiners_selectors_and_tags_stay_where_they_are_seen(kept: str) -> None:
    """What changes the form of a letter or an emoji stays."""
    assert clean_text(kept) == kept


@pytest.mark.parametrize(
    ("typed", "cleaned"),
    [
        ("\u0645\u06cc\u200c\u200c\u200d\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\u0645\u200c", "\u0645"), ("\u200c\u0645", "\u0645"), ("\u0645\u200ca", "\u0645a"),
        (f"a{ZWJ}b", "ab"), ("\U0001f468\u200d", "\U0001f468"),
        ("\U0001f468\u200dx", "\U0001f468x"), ("a\ufe0f", "a"), ("1\ufe0f", "1"),
        ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f"),
        ("\U0001f3f4\U000e0067\U000e0062", "\U0001f3f4"), (ENGLAND[1:], ""),
        (f"x{ENGLAND[1:]}", "x"), ("a\U000e0100", "a"),
        ("\u908a\U000e0100\U000e0101", "\u908a\U000e0100"),
        ("Z" + 20 * "\u0334\u0327\u0321", "Z\u0334\u0334\u0334"), ("e\u200b\u0308", "\u00eb"),
        ("\u0301a", "a"), ("a \u0301", "a"), ("\u0928" + 9 * "\u093e", "\u0928\u093e\u093e\u093e"),
        ("a\u3164b\u115fc\u1160d\uffa0e\u2800f", "abcdef"), ("a\u034f\u0308", "\u00e4"),
    ],
)  # fmt: skip
def test_joiners_selectors_tags_and_marks_go_elsewhere(typed: str, cleaned: str) -> None:
    """What changes nothing that anyone sees goes, and so do marks that pile up."""
    assert clean_text(typed) == cleaned


def test_the_ignorable_characters_are_those_of_unicode() -> None:
    """IGNORABLE has the 4,174 code points of Default_Ignorable_Code_Point, format and private ones
    apart, and every format character that shows nothing.
    """
    found = set(map(ord, IGNORABLE.findall("".join(map(chr, range(sys.maxunicode + 1))))))
    assert len(found) == 4174  # DerivedCoreProperties.txt: "Total code points: 4174"
    shown = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    annotations, hieroglyphs = range(0xFFF9, 0xFFFC), range(0x13430, 0x13456)
    for number in range(sys.maxunicode + 1):
        if unicodedata.category(chr(number)) == "Cf":
            others = number in shown or number in annotations or number in hieroglyphs
            assert (number in found) is not others, hex(number)


@pytest.mark.parametrize(
    "text",
    ["abc", "n\u0334\u0334x", f"a{FAMILY}", f"a{ENGLAND}b",
     "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f469\U0001f3fd\u200d\U0001f680",
     "\u0915\u094d\u0937\u093f", "a b c", "1\ufe0f\u20e3"],
)  # fmt: skip
def test_a_text_is_cut_between_graphemes(text: str) -> None:
    """A cut text is a beginning of the text that is clean, within the limit and as long as it can
    be; its rest begins with no mark, joiner, tag, skin tone or second half of a flag.
    """
    lengths = [len(cut_text(text, limit)) for limit in range(len(text) + 2)]
    assert lengths == sorted(lengths)
    assert lengths[-2:] == [len(text)] * 2
    for limit, length in enumerate(lengths):
        assert length <= limit
        assert text.startswith(cut_text(text, limit))
        assert clean_text(text[:length]) == text[:length]
        rest = text[length:]
        assert not rest or not (is_mark(rest[0]) or rest[0] in (ZWJ, "\U0001f3fd", ENGLAND[1]))
    assert cut_text("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3) == "\U0001f1e9\U0001f1ea"
