"""The text of files as people have them: UTF-8, UTF-16 or Windows' Latin-1. Pure."""

import codecs
import re

#: The byte order marks that say how a file is encoded; that of UTF-32 begins with UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Characters that no text has, U+FFFE included; 1A ends the files of old systems.
BINARY = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f\x7f\ufffe]")


class NotText(ValueError):
    """The content of a file is not text."""


def decode_text(content: bytes) -> str:
    """Returns the text of a file, without its byte order mark and with line feeds alone.

    Without a mark it is UTF-8 where that is possible, else Windows-1252, which is Latin-1 (the
    encoding of the PGN standard) with more letters. Raises NotText for anything else.
    """
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise NotText(f"it is not the text in {encoding.upper()} that it says") from error
        text = content.decode("cp1252", "replace")
    if BINARY.search(text):
        raise NotText("it is not a text file")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
