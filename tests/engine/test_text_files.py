"""engine/text_files.py: files are text as people have them, or are refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text_files import MAX_LINE_BYTES, NotText, decode_text, read_lines

TEXT = '[White "Andr\u00e9 M\u00fcller"]\n\n1. e4 e5\n'


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"]
)
def test_texts_of_any_editor_are_read(encoding: str, line_end: str) -> None:
    """The encoding and the ends of lines make no difference, nor does the end mark of DOS."""
    content = TEXT.replace("\n", line_end).encode(encoding)
    assert decode_text(content) == TEXT
    if not encoding.startswith("utf-"):
        assert decode_text(content + b"\x1a") == TEXT


def test_big_endian_marks_are_read() -> None:
    """A byte order mark says the order."""
    assert decode_text(b"\xfe\xff" + TEXT.encode("utf-16-be")) == TEXT
    assert decode_text(b"\x00\x00\xfe\xff" + TEXT.encode("utf-32-be")) == TEXT


@pytest.mark.parametrize(
    "content",
    [b"\x00" * 9, b"\x89PNG\r\n\x1a\n\x00\x00", b"\x7fELF\x02", b"PK\x03\x04", bytes(range(256)),
     b"\x1f\x8b\x08", b"\xff\xfe\x00", b"\xff\xfe\x00\xd8", "e4".encode("utf-16-le")],
)  # fmt: skip
def test_what_is_not_text_is_refused(content: bytes) -> None:
    """Binary files and broken encodings are refused in words."""
    with pytest.raises(NotText, match="it is not"):
        decode_text(content)


@given(st.binary(max_size=40))
def test_any_content_is_text_or_refused(content: bytes) -> None:
    """No content raises another error."""
    with contextlib.suppress(NotText):
        assert "\r" not in decode_text(content)


@given(st.text(max_size=40))
def test_utf_8_is_never_taken_for_another_encoding(text: str) -> None:
    """Any text in UTF-8 is read back, or is refused for its control characters."""
    try:
        read = decode_text(text.encode())
    except NotText:
        return
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    assert read == lines.rstrip("\x1a")


def in_parts(content: bytes, size: int) -> list[bytes]:
    """The content in parts of some bytes."""
    return [content[i : i + size] for i in range(0, len(content), size)]


@given(
    st.lists(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])), max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.integers(1, 9),
)
def test_lines_are_those_of_the_whole_text(
    lines: list[str], line_end: str, encoding: str, size: int
) -> None:
    """A file in parts has the lines of the file, whatever its encoding and the ends of lines."""
    content = "".join(line + line_end for line in lines).encode(encoding)
    found = list(read_lines(in_parts(content, size)))
    assert [line.text for line in found] == lines
    assert [line.number for line in found] == list(range(1, len(lines) + 1))
    assert not any(line.fault for line in found)


def test_each_line_has_its_own_encoding() -> None:
    """Files that were put together have UTF-8 and Latin-1; the end mark of DOS is no line."""
    content = "Andr\u00e9\n".encode() + "M\u00fcller\r\n".encode("latin-1") + b"\x1a"
    assert [line.text for line in read_lines([content])] == ["Andr\u00e9", "M\u00fcller"]


def test_lines_that_are_no_text() -> None:
    """A line that is too long is cut and named, one with control characters is named; those after
    them are read.
    """
    content = b"a" * (2 * MAX_LINE_BYTES) + b"\nb\x00\nc"
    long, binary, last = read_lines(in_parts(content, 70_000))
    assert (long.number, len(long.text)) == (1, MAX_LINE_BYTES)
    assert long.fault == "a line of at most 1,048,576 bytes"
    assert (binary.number, binary.fault) == (2, "text")
    assert (last.number, last.text, last.fault) == (3, "c", "")
