"""The cleaning of text that people type and others read: names and lines of chat."""

import unicodedata


def clean_text(text: str) -> str:
    """The text on one line, without invisible characters.

    Control, bidirectional and other format characters could make a page show false text.
    """
    visible = "".join(
        c if unicodedata.category(c)[0] not in "CZ" else " " if c.isspace() else "" for c in text
    )
    return " ".join(visible.split())
