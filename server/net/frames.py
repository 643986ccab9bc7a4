"""WebSocket text frames from a server (RFC 6455, section 5.2).

They are unmasked, so the same bytes can go to every connection.
"""

import struct

from server.protocol.outbound import Batch, Outbound


def text_frame(payload: bytes) -> bytes:
    """Returns one complete text frame with a payload that is valid UTF-8."""
    length = len(payload)
    if length < 126:
        return b"\x81" + bytes((length,)) + payload
    if length < 65536:
        return b"\x81\x7e" + struct.pack("!H", length) + payload
    return b"\x81\x7f" + struct.pack("!Q", length) + payload


def frame_of(outbound: Outbound) -> bytes:
    """Returns the message as one text frame, which is encoded once for all connections."""
    if (frame := outbound.frame) is None:
        frame = outbound.frame = text_frame(outbound.payload())
    return frame


def frames_of(batch: Batch) -> bytes:
    """Returns the messages as text frames, which are joined once for all connections."""
    if (frames := batch.frames) is None:
        frames = batch.frames = b"".join(map(frame_of, batch.messages))
    return frames
