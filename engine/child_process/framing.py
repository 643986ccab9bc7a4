"""Messages on a stream, each preceded by its length."""

#: The number of bytes of the length before a message (big-endian).
LENGTH_BYTES = 4


def frame(content: bytes, max_bytes: int) -> bytes:
    """Returns a message with its length before it; raises ValueError if it is too long."""
    if len(content) > max_bytes:
        raise ValueError(f"a message has at most {max_bytes} bytes, not {len(content)}")
    return len(content).to_bytes(LENGTH_BYTES, "big") + content
