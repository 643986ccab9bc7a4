"""The text of files as people have them: UTF-8, UTF-16 or Windows' Latin-1. Pure."""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

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
LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
#: Maximum length of a line of a file that is read in parts, in bytes.
MAX_LINE_BYTES = 1 << 20


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


class Line(Struct, frozen=True):
    """A line of a file without its end. `fault` says what was expected where it is no text."""

    number: int
    text: str
    fault: str = ""


def read_lines(chunks: Iterable[bytes]) -> Iterator[Line]:
    """Yields the lines of a file that comes in parts of any size, as `decode_text` reads them.

    Each line without a byte order mark is UTF-8 or Windows-1252 for itself, as in files that were
    put together. A line of more than MAX_LINE_BYTES is cut there, and its `fault` says so; so does
    that of a line with characters that no text has. At most one line and one part are in memory.
    """
    number, rest, is_cut = 0, b"", False
    for chunk in _utf_8(chunks):
        # A carriage return at the end of a part may belong to a line feed of the next one.
        *whole, rest = LINE_END.split(rest + chunk)
        for content in whole:
            if not is_cut:
                number += 1
                yield _line(number, content)
            is_cut = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_cut:
                number += 1
                yield _line(number, rest)
            is_cut, rest = True, b""
    rest = rest.rstrip(b"\x1a")
    if rest and not is_cut:
        yield _line(number + 1, rest.removesuffix(b"\r"))


def _line(number: int, content: bytes) -> Line:
    if not content:
        return Line(number, "")
    is_long = len(content) > MAX_LINE_BYTES
    content = content[:MAX_LINE_BYTES]
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    fault = f"a line of at most {MAX_LINE_BYTES:,} bytes" if is_long else ""
    if BINARY.search(text):
        fault = "text"
    return Line(number, text, fault)


def _utf_8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the parts of a file without its byte order mark, in UTF-8 where the mark says which
    encoding it has.
    """
    parts = iter(chunks)
    begin = b""
    for part in parts:
        begin += part
        if len(begin) >= 4:
            break
    mark, encoding = next(
        ((mark, name) for mark, name in MARKS if begin.startswith(mark)), (b"", "")
    )
    if encoding in ("", "utf-8-sig"):
        yield begin[len(mark) :]
        yield from parts
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for part in chain((begin,), parts):
        yield decoder.decode(part).encode()
    yield decoder.decode(b"", final=True).encode()
