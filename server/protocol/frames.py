"""WebSocket text frames from a server (RFC 6455, section 5.2):
unmasked, so one is byte-identical for every connection.
"""

import struct


def text_frame(payload: bytes) -> bytes:
    """The payload, which is UTF-8, as one complete frame."""
    length = len(payload)
    if length < 126:
        return b"\x81" + bytes((length,)) + payload
    if length < 65536:
        return b"\x81\x7e" + struct.pack("!H", length) + payload
    return b"\x81\x7f" + struct.pack("!Q", length) + payload
