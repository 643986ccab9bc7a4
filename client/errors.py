"""The client's exceptions. Their messages are written for people."""


class PlyroomError(Exception):
    """The base class: something failed between a client and a server."""


class Unreachable(PlyroomError):
    """No server answers at the address, or the one that answers is not a Plyroom server."""

    @classmethod
    def at(cls, where: object, error: Exception) -> "Unreachable":
        """The error for an address, from that of the network, without the number of its kind."""
        reason = getattr(error, "reason", error)
        text = getattr(reason, "strerror", None) or reason
        return cls(f"no server can be reached at {where}: {text}")


class WrongToken(PlyroomError):
    """The server has no guest with this token; the guest may have expired."""


class ProtocolMismatch(PlyroomError):
    """Server and client speak different protocol versions, or a frame could not be parsed."""


class Replaced(PlyroomError):
    """The server closed this connection because the same identity opened another one."""


class Unanswered(PlyroomError):
    """No answer arrived in time; whether the server executed the command is unknown."""


class Refused(PlyroomError):
    """The server refused a command or a request, and nothing changed; `code` is the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
