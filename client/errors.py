"""What can go wrong for a client, as types. Each message is made for people."""


class PlyroomError(Exception):
    """Anything that went wrong between a client and a server."""


class Unreachable(PlyroomError):
    """Nobody answers there, or what answers is no Plyroom server."""


class WrongToken(PlyroomError):
    """The server does not know this token (any more)."""


class ProtocolMismatch(PlyroomError):
    """Server and client speak different versions, or the server sent what nobody can read."""


class Replaced(PlyroomError):
    """Another connection of the same identity took over."""


class Unanswered(PlyroomError):
    """No answer in the time given; whether the command was carried out is unknown."""


class Refused(PlyroomError):
    """The server refused a command, and nothing changed; `code` says why for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
