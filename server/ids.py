"""The types of ids, so that a type checker tells them apart. At run time each is a str."""

from typing import NewType

#: A person's, or that of AI seats and the server; random for people.
IdentityId = NewType("IdentityId", str)
#: No identity: of a connection before its hello, and of a host that is not known.
NOBODY = IdentityId("")
#: A match's, random.
MatchId = NewType("MatchId", str)
#: A node's: one process of the server.
NodeId = NewType("NodeId", str)
#: A room's, random; whoever has it may join the room.
RoomId = NewType("RoomId", str)
