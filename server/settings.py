"""Everything that an operator may set, with the unit in the name;
each can come from the environment as PLYROOM_<NAME>.
"""

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from server.address import parse_proxies

#: Lines of chat that a room remembers to judge the next one by.
CHAT_JUDGED = 64
LOG_LEVELS = ("debug", "info", "warning", "error")


class SettingError(Exception):
    """A setting that cannot be; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The defaults suit one machine and a house full of friends."""

    host: str = "0.0.0.0"
    port: int = 8000
    data: Path = Path("data")
    #: Host names under which browsers may come, besides IP addresses, localhost and *.local (a
    #: guard against DNS rebinding).
    names: tuple[str, ...] = ()
    #: Networks (10.0.0.0/8) in which reverse proxies stand that are believed when they say for whom
    #: they ask (X-Forwarded-For, X-Forwarded-Proto). Such a proxy sets these headers and lets
    #: nobody else set them.
    proxies: tuple[str, ...] = ()
    #: Browsers that came by HTTPS are told to come by nothing else for so long (31536000 is a
    #: year); 0: nothing.
    hsts_s: int = 0
    #: Search processes; 0 leaves all searching to engine workers.
    workers: int = field(default_factory=lambda: max(1, min(4, os.cpu_count() or 1)))

    #: A connection from which nothing came for so long is closed.
    silence_s: float = 20.0
    #: A room that nobody follows and that needs nobody leaves memory after so long.
    room_idle_s: float = 60.0
    #: How often the heads of open rooms are compared with the store, should the bus have lost a
    #: message.
    poll_s: float = 30.0
    #: When the server is told to stop it takes nobody new, and closes its connections one by one
    #: over so long.
    drain_s: float = 1.0
    #: How often a node says that it is alive, and looks for due rooms of nodes that are not.
    heartbeat_s: float = 1.0
    #: No other node uses this store: at the start all due rooms are taken at once. Unless it is
    #: said, that is so on SQLite and not on PostgreSQL.
    sole_node: bool | None = None

    #: A PostgreSQL database, postgresql://user:password@host:5432/database; without one, a SQLite
    #: file in `data`.
    database: str = field(default="", repr=False)
    #: A file with that address in it, for secrets that are mounted as files.
    database_file: Path | None = None
    #: Connecting to PostgreSQL may take so long, …
    database_connect_s: float = 2.0
    #: … a statement so long, …
    database_statement_s: float = 2.0
    #: … of that so long to wait for a lock, …
    database_lock_s: float = 1.0
    #: … and after so long the server ends a transaction in which nothing happens.
    database_idle_transaction_s: float = 10.0
    #: Connections for reads; the writer has one more of its own.
    database_pool: int = 8

    #: The MQTT broker of a server that is not alone: mqtt://user:password@host:port/prefix, or
    #: mqtts://… for TLS. The prefix, with which topics begin, may be left out.
    bus: str = field(default="", repr=False)
    #: A file that holds the same, for secrets.
    bus_file: Path | None = None
    #: Certificates to trust in the broker's, instead of the system's.
    bus_ca: Path | None = None
    #: What this node is called in topics and logs, before a random part.
    node: str = ""

    #: Where Prometheus finds /metrics, and a proxy /livez and /readyz; without it there is none.
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    #: What is logged at least: debug (each command with its id), info, warning or error.
    log: str = "info"

    #: For tests of what a crash may lose: where and when the server kills itself (see
    #: server/process/failpoint.py).
    failpoint: str = ""

    #: An AI answers a person no sooner after the last move.
    ai_pace_ms: int = 350
    #: The same between two AI seats, so that people can watch.
    ai_duel_pace_ms: int = 700
    #: A person who can only pass is passed for after so long, so that all see it.
    forced_pass_ms: int = 1000
    #: How often a search that failed is tried in all before the match ends for want of a move.
    ai_tries: int = 2

    #: Each address may ask the HTTP API so often in a minute (0: as often as it likes), …
    limit_requests_per_minute: int = 1_200
    #: … and so often at once.
    limit_requests_burst: int = 3_000
    #: Of pictures that must be drawn first, each address gets so many hundreds of plies a minute
    #: (0: all), …
    limit_replays_per_minute: int = 120
    #: … and so many hundreds at once.
    limit_replays_burst: int = 600
    #: Each connection may send so many messages a second, …
    messages_per_s: float = 50.0
    #: … and so many at once.
    messages_burst: int = 200
    #: Each identity may make so many rooms a minute, …
    rooms_per_minute: float = 12.0
    #: … and so many at once.
    rooms_burst: int = 20
    max_connections: int = 20_000
    #: Connections that are no WebSockets (yet); one address may have half of them.
    max_http: int = 4_000
    #: Rooms in memory; more are refused until some have been idle.
    max_rooms: int = 20_000

    # Limits of one address, an IPv4 address or the /64 of an IPv6 one; 0 is off.
    #: An address may make so many guests at once, …
    limit_guests: int = 200
    #: … and then so many a minute.
    limit_guests_per_minute: int = 60
    #: An address may have so many connections open.
    limit_sockets: int = 2000
    #: An address may make so many rooms a minute.
    limit_rooms_per_minute: int = 60
    #: An address may hold so many hundredths of `max_rooms`.
    limit_rooms_percent: int = 10
    #: An identity may say so many lines in 10 s in a room; at most CHAT_JUDGED.
    limit_chat: int = 4
    #: All together may say so many lines in 10 s in a room; at most CHAT_JUDGED.
    limit_chat_room: int = 20

    @property
    def alone(self) -> bool:
        """Whether this node uses its store alone."""
        return not self.database if self.sole_node is None else self.sole_node


def settings_from_env(environ: dict[str, str] | None = None) -> Settings:
    """The settings with what the environment changes; SettingError names a variable that cannot be
    read.
    """
    environ = dict(os.environ) if environ is None else environ
    changes: dict[str, object] = {}
    for one in fields(Settings):
        variable = f"PLYROOM_{one.name.upper()}"
        if variable not in environ:
            continue
        try:
            changes[one.name] = _read(str(one.type), environ[variable])
        except ValueError as error:
            raise SettingError(f"{variable} is {environ[variable]!r}; {error}") from error
    try:
        parse_proxies(changes.get("proxies", ()))  # type: ignore[arg-type]
    except ValueError as error:
        raise SettingError(f"PLYROOM_PROXIES is {environ['PLYROOM_PROXIES']!r}; {error}") from error
    for name in ("port", "metrics_port"):
        if changes.get(name, 0) not in range(65536):
            raise SettingError(
                f"PLYROOM_{name.upper()} is {changes[name]}; a number up to 65535 was expected"
            )
    for name in ("limit_chat", "limit_chat_room"):
        if changes.get(name, 0) not in range(CHAT_JUDGED + 1):
            raise SettingError(
                f"PLYROOM_{name.upper()} is {changes[name]}; a number from 0 (off) to {CHAT_JUDGED} was expected"
            )
    if changes.get("log", "info") not in LOG_LEVELS:
        raise SettingError(
            f"PLYROOM_LOG is {changes['log']!r}; one of {', '.join(LOG_LEVELS)} was expected"
        )
    if changes.get("database_pool", 1) == 0:
        raise SettingError("PLYROOM_DATABASE_POOL is 0; a number from 1 up was expected")
    return with_database(Settings(**changes))  # type: ignore[arg-type]


def with_database(settings: Settings) -> Settings:
    """The settings with the database's address read from its file, if it is in one."""
    if settings.database_file is None:
        return settings
    if settings.database:
        raise SettingError(
            "PLYROOM_DATABASE and PLYROOM_DATABASE_FILE are both set; one of them was expected"
        )
    try:
        address = settings.database_file.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingError(
            f"PLYROOM_DATABASE_FILE is {settings.database_file}, which cannot be read: {reason}"
        ) from None
    if not address:
        raise SettingError(f"PLYROOM_DATABASE_FILE is {settings.database_file}, which is empty")
    return replace(settings, database=address, database_file=None)


def _read(kind: str, text: str) -> object:
    if "bool" in kind:
        if text.lower() in ("1", "true", "yes", "0", "false", "no"):
            return text.lower() in ("1", "true", "yes")
        raise ValueError("yes or no was expected")
    if "int" in kind or "float" in kind:
        try:
            number = int(text) if "int" in kind else float(text)
        except ValueError:
            number = -1
        if "int" in kind and not 0 <= number < 1e12:
            raise ValueError("a whole number from 0 up was expected")
        if not 0 < number < 1e12 and "float" in kind:
            raise ValueError("a number above 0 was expected")
        return number
    if "tuple" in kind:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if "Path" in kind:
        return Path(text)
    return text
