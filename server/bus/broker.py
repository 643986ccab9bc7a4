"""The MQTT broker's address and credentials, and what all its messages have in common.

Error messages do not contain the secrets.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from server.settings import SettingError, Settings

#: The start of all topics, after the broker's prefix; the number is the version of the message
#: format.
ROOT = "plyroom/1"
#: Maximum length of a message in either direction, in bytes.
MAX_BYTES = 262_144
#: The default port of each scheme.
PORTS = {"mqtt": 1883, "mqtts": 8883}
#: The pattern of a URL's path, the prefix of topics: no wildcards, and no names that brokers
#: reserve, such as $SYS.
PREFIX = re.compile(r"(/[A-Za-z0-9_.-]{1,40}){0,8}/?")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's address and credentials; its text form leaves out the password."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    #: The CA certificates to trust instead of the system's.
    ca: Path | None = None
    #: The prefix of all topics, empty or ending in /, so that several clusters can share a broker.
    prefix: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = f"/{self.prefix.rstrip('/')}" if self.prefix else ""
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}{path}"

    def prefixed(self, topic: str) -> str:
        """A topic, or a topic filter, with the broker's prefix."""
        return self.prefix + topic


def parse_broker(url: str, ca: Path | None = None) -> Broker:
    """Parses mqtt://user:password@host:port/prefix. Raises SettingError if it is invalid.

    The scheme mqtts selects TLS, %xx escapes special characters, and the topic prefix is optional.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise SettingError(
            "the bus address is not a URL; expected mqtt://user:password@host:port"
        ) from error
    if parts.scheme not in PORTS or not parts.hostname or parts.query or parts.fragment:
        raise SettingError(
            "the bus address is not mqtt://user:password@host:port (mqtts://… for TLS)"
        )
    if not PREFIX.fullmatch(parts.path):
        raise SettingError(
            "the path of the bus address is the prefix of all topics:"
            " expected words of letters, digits, -, . and _, separated by /"
        )
    prefix = parts.path.strip("/")
    if parts.password is not None and not parts.username:
        raise SettingError("the bus address has a password but no user")
    if ca is not None and not ca.is_file():
        raise SettingError(f"PLYROOM_BUS_CA: there is no file {ca}")
    return Broker(
        host=parts.hostname, port=port or PORTS[parts.scheme], tls=parts.scheme == "mqtts",
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password is not None else None, ca=ca,
        prefix=f"{prefix}/" if prefix else "",
    )  # fmt: skip


def broker_of(settings: Settings) -> Broker | None:
    """The broker that the settings name, or None without one.

    Raises SettingError if the settings are invalid or contradict each other.
    """
    if settings.bus and settings.bus_file is not None:
        raise SettingError("PLYROOM_BUS and PLYROOM_BUS_FILE are both set; set only one of them")
    if settings.bus_file is not None:
        try:
            url = settings.bus_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"PLYROOM_BUS_FILE cannot be read: {error}") from error
        return parse_broker(url, settings.bus_ca)
    return parse_broker(settings.bus, settings.bus_ca) if settings.bus else None
