"""WebSocket text frames from a server (RFC 6455, section 5.2).

They are unmasked, so one frame's bytes serve every connection.
"""

import struct

from server.protocol.outbound import Outbound


def text_frame(payload: bytes) -> bytes:
    """One complete text frame around a payload that is valid UTF-8."""
    length = len(payload)
    if length < 126:
        return b"\x81" + bytes((length,)) + payload
    if length < 65536:
        return b"\x81\x7e" + struct.pack("!H", length) + payload
    return b"\x81\x7f" + struct.pack("!Q", length) + payload


def frame_of(outbound: Outbound) -> bytes:
    """The message as one text frame, made once for all connections."""
    if (frame := outbound.frame) is None:
        frame = outbound.frame = text_frame(outbound.payload())
    return frame
