"""The types of ids, which a type checker distinguishes. At run time each is a str."""

from typing import NewType

#: The id of a person (random), or of AI seats and the server.
IdentityId = NewType("IdentityId", str)
#: The identity of a connection before its hello, and of an unknown host.
NOBODY = IdentityId("")
#: The random id of a match.
MatchId = NewType("MatchId", str)
#: The id of a node, which is one process of the server.
NodeId = NewType("NodeId", str)
#: The random id of a room. Anyone who has it may join the room.
RoomId = NewType("RoomId", str)
