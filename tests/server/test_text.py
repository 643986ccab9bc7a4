"""server/rooms/text.py and names: what is left of the text that people type."""

import sys
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.identity.names import clean_name, is_ai_name
from server.protocol.codes import Code
from server.protocol.messages import MAX_CHAT, MAX_NAME
from server.rooms.model import CommandRejected
from server.rooms.text import clean_text

#: Characters that are removed or replaced, or that are easily mistaken, and some ordinary ones; AI
#: in squares, a letter with its accent apart, and half of the longest name.
AWKWARD = (
    *"aA\u0131I1l \t\n\u0301\u200b\u202e\u2066\ufeff\u3000\x00\x85\ud800\ufb01",
    "\U0001f130\U0001f138", "A\u0301", "x" * (MAX_NAME // 2),
)  # fmt: skip
#: Any text that a line of chat may have, also with lone surrogates, and often with AWKWARD parts.
TYPED = st.lists(
    st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(codec=None), max_size=4)),
    max_size=MAX_CHAT // 4,
).map("".join)


def is_invisible(character: str) -> bool:
    """Whether a character is a control, format, private, unassigned or separator character."""
    return unicodedata.category(character)[0] in "CZ"


@given(TYPED)
def test_a_clean_text_is_clean(text: str) -> None:
    """Cleaning a clean text changes nothing."""
    assert clean_text(clean_text(text)) == clean_text(text)


@given(TYPED)
def test_nothing_invisible_is_left(text: str) -> None:
    """No control, bidirectional or other format character is left, and spaces stand alone between
    words.
    """
    cleaned = clean_text(text)
    assert not [c for c in cleaned if c != " " and is_invisible(c)]
    assert all(cleaned.split(" ")) or cleaned == ""


@given(TYPED)
def test_everything_visible_is_left(text: str) -> None:
    """All visible characters stay in their order and as they were typed, without normalization;
    words that a separator or a line break parted stay parted.
    """
    visible = [c for c in text if not is_invisible(c)]
    assert [c for c in clean_text(text) if c != " "] == visible
    words = "".join(c if c.isspace() or not is_invisible(c) else "" for c in text).split()
    assert clean_text(text).split() == words


@given(TYPED)
def test_cleaning_never_lengthens(text: str) -> None:
    """A clean text is not longer than the text, in characters and in UTF-8 bytes, and it can be
    encoded even if the text cannot.
    """
    cleaned = clean_text(text)
    assert len(cleaned) <= len(text)
    assert len(cleaned.encode()) <= len(text.encode(errors="surrogatepass"))


def test_every_character_alone() -> None:
    """Of all characters exactly the invisible ones disappear, a space among them."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        assert clean_text(character) == ("" if is_invisible(character) else character)


@given(TYPED)
def test_a_name_is_bounded_or_refused(text: str) -> None:
    """A name has 1 to MAX_NAME characters of at most 4 bytes each and is a clean text that is no
    AI's; any other is refused with a sentence. A name that was accepted once is accepted again.
    """
    cleaned = clean_text(text)
    if 1 <= len(cleaned) <= MAX_NAME and not is_ai_name(cleaned):
        assert clean_name(text) == cleaned == clean_name(cleaned)
        assert len(cleaned.encode()) <= 4 * MAX_NAME
    else:
        with pytest.raises(CommandRejected) as refused:
            clean_name(text)
        assert refused.value.code is Code.NAME_REFUSED


@given(
    st.lists(st.sampled_from([*AWKWARD, "AI", " level "]), max_size=4).map("".join),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_a_name_is_judged_alike_in_every_normal_form(
    name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    """Whether a name is like an AI's does not depend on the normal form in which it was typed."""
    assert is_ai_name(unicodedata.normalize(form, name)) == is_ai_name(name)
