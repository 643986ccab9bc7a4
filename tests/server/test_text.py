"""server/rooms/text.py and server/identity/guests.py: the cleaning of text that people type."""

import sys
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.commands import MAX_CHAT
from server.identity.guests import clean_name, is_ai_name
from server.protocol.codes import Code
from server.protocol.messages import MAX_NAME
from server.rooms.model import CommandRejected
from server.rooms.text import clean_text

#: Ordinary characters, and characters that are removed, replaced or easily confused; "AI" in
#: squared letters, a letter with a combining accent, and half of the longest name.
AWKWARD = (
    *"aA\u0131I1l \t\n\u0301\u200b\u202e\u2066\ufeff\u3000\x00\x85\ud800\ufb01",
    "\U0001f130\U0001f138", "A\u0301", "x" * (MAX_NAME // 2),
)  # fmt: skip
#: Any text that a client may send, also with lone surrogates, and often with AWKWARD parts.
TYPED = st.lists(
    st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(codec=None), max_size=4)),
    max_size=MAX_CHAT // 4,
).map("".join)


def is_invisible(character: str) -> bool:
    """Returns whether the character is a control, format, private, unassigned or separator one."""
    return unicodedata.category(character)[0] in "CZ"


@given(TYPED)
def test_cleaning_is_idempotent(text: str) -> None:
    """Cleaning a clean text changes nothing."""
    assert clean_text(clean_text(text)) == clean_text(text)


@given(TYPED)
def test_no_invisible_character_is_left(text: str) -> None:
    """No control, bidirectional or other format character is left, and single spaces separate
    words.
    """
    cleaned = clean_text(text)
    assert not [c for c in cleaned if c != " " and is_invisible(c)]
    assert all(cleaned.split(" ")) or cleaned == ""


@given(TYPED)
def test_every_visible_character_is_left(text: str) -> None:
    """All visible characters stay as they were typed, in their order and without normalization.

    Words that a separator or a line break separates stay separate.
    """
    visible = [c for c in text if not is_invisible(c)]
    assert [c for c in clean_text(text) if c != " "] == visible
    words = "".join(c if c.isspace() or not is_invisible(c) else "" for c in text).split()
    assert clean_text(text).split() == words


@given(TYPED)
def test_cleaning_never_lengthens(text: str) -> None:
    """The clean text is not longer than the text, in characters or in UTF-8 bytes.

    It can be encoded even if the text cannot.
    """
    cleaned = clean_text(text)
    assert len(cleaned) <= len(text)
    assert len(cleaned.encode()) <= len(text.encode(errors="surrogatepass"))


def test_every_character_alone() -> None:
    """Of all characters exactly the invisible ones are removed, and a lone space too."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        assert clean_text(character) == ("" if is_invisible(character) else character)


@given(TYPED)
def test_a_name_is_bounded_or_refused(text: str) -> None:
    """A name is a clean text of 1 to MAX_NAME characters, of at most 4 bytes each, and not an AI's.

    Any other name is refused. An accepted name is accepted again, unchanged.
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
def test_the_check_for_ai_names_ignores_the_normal_form(
    name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    """Whether a name looks like an AI's does not depend on its Unicode normal form."""
    assert is_ai_name(unicodedata.normalize(form, name)) == is_ai_name(name)
