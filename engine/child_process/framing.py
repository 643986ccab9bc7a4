"""Messages on a pipe: each comes after its length."""

#: The number of bytes before a message that hold its length, the most significant byte first.
LENGTH_BYTES = 4


def frame(content: bytes, max_bytes: int) -> bytes:
    """Returns a message with its length before it; raises ValueError if it is too long."""
    if len(content) > max_bytes:
        raise ValueError(f"a message has at most {max_bytes} bytes, not {len(content)}")
    return len(content).to_bytes(LENGTH_BYTES, "big") + content
