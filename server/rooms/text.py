"""Cleans the text that people type for others to read: names and lines of chat."""


def clean_text(text: str) -> str:
    """Returns the text on one line, with single spaces and without invisible characters.

    Control, bidirectional and other format characters could make a page show false text. All other
    characters stay as they are, in their order and without normalization, so a clean text is never
    longer than the text, in characters or in UTF-8 bytes.
    """
    # A character is printable unless its category is C… (other) or Z… (separator, except " ").
    visible = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join(visible.split())
