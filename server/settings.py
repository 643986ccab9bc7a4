"""The settings of a server, with units in their names.

The environment variable PLYROOM_<NAME> sets each of them.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import cast

from server.address import parse_names, parse_proxies, parse_url

#: The folder of a server that is told no other one, below its working directory.
DEFAULT_FOLDER = Path("data")
#: Newest lines of chat whose author and time a room keeps, for the chat's rate limits.
CHAT_STAMPS = 64
#: The settings that are at most CHAT_STAMPS.
CHAT_LIMITS = (
    "limit_chat", "limit_chat_room", "limit_questions", "limit_questions_room", "limit_private",
    "limit_private_room",
)  # fmt: skip
#: The values of `log`.
LOG_LEVELS = ("debug", "info", "warning", "error")


#: The address of a service of Kubernetes.
_SERVICE = re.compile(r"(?:tcp|udp|sctp)://\S+")


def example_of_url(port: int) -> str:
    """An example of the setting `url` of a server at this port, for advice."""
    return f"PLYROOM_URL=http://192.168.1.7:{port}"


class SettingError(Exception):
    """A setting is invalid. The message says what was expected."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A server's settings. The defaults suit one machine and a group of friends."""

    #: Address to listen on. Empty or :: is every network of this machine, IPv4 and IPv6; 0.0.0.0 is
    #: every IPv4 network.
    host: str = ""
    #: Port to listen on; 0 takes a free one.
    port: int = 8000
    #: Folder of the SQLite file.
    data: Path = DEFAULT_FOLDER
    #: Host names that browsers may use besides IP addresses, names without a dot, this machine's
    #: name, localhost, *.local, *.lan, *.home.arpa, *.internal and fritz.box (a guard against DNS
    #: rebinding). *.example.org stands for the names below example.org.
    names: tuple[str, ...] = ()
    #: The address of this server for people elsewhere, as in https://play.example.org. Invitations
    #: contain it, and browsers may use its host name. Without it they contain the address of the
    #: request or, if that is this machine's own, this machine's address in its network.
    url: str = ""
    #: Networks (10.0.0.0/8) of trusted reverse proxies: their X-Forwarded-For and X-Forwarded-Proto
    #: headers count. Such a proxy must set these headers and let no client set them.
    proxies: tuple[str, ...] = ()
    #: Time for which browsers that use HTTPS must use nothing else, in seconds (31536000 is a
    #: year); 0 is off.
    hsts_s: int = 0
    #: Search processes; 0 leaves all searches to engine workers.
    workers: int = field(default_factory=lambda: max(1, min(4, os.cpu_count() or 1)))
    #: Processes that run strategies, such as minimax and those of other packages, each with its
    #: own limits; they start when they are needed. 0 runs none in this server.
    strategy_processes: int = 2
    #: Longest time of a strategy's move, in seconds. After it the process is killed.
    strategy_move_s: float = 2.0
    #: Largest address space of such a process, in MiB.
    strategy_memory_mib: int = 512

    #: Processes for the traces, lessons and boards of the glass box; they start when they are
    #: needed. With two or more, one is always free for lessons and boards. 0 is off;
    #: then the server writes exports itself.
    study_processes: int = 2
    #: Processor time of a search for a trace, in seconds. After it the trace ends as it is.
    #: Exports leave out a match whose rules take longer.
    study_s: float = 5.0
    #: Maximum number of nodes of a search for a trace.
    study_nodes: int = 300_000
    #: Largest address space of a study process, in MiB.
    study_memory_mib: int = 512

    #: Longest time of one call of a game's rules in the server's event loop, in seconds; 1.25 or
    #: more takes effect. Then the rule is interrupted, and its game is refused until a restart.
    rule_s: float = 5.0

    #: Silence after which a connection is closed, in seconds.
    silence_s: float = 20.0
    #: Time after which a room without followers and without work is unloaded, in seconds.
    room_idle_s: float = 60.0
    #: Time between two comparisons of the open rooms' heads with the store, in case the bus lost a
    #: message, in seconds.
    poll_s: float = 30.0
    #: Time over which a stopping server closes its connections one by one, in seconds. It accepts
    #: no new ones in this time.
    drain_s: float = 1.0
    #: Time between two heartbeats of a node, in seconds. With each it takes over due rooms of nodes
    #: that are down.
    heartbeat_s: float = 1.0
    #: Whether no other node uses this store. A sole node takes over the due rooms of all others.
    #: The default is yes on SQLite and no on PostgreSQL.
    sole_node: bool | None = None

    #: A PostgreSQL database, postgresql://user:password@host:5432/database. Without one, a SQLite
    #: file in `data`.
    database: str = field(default="", repr=False)
    #: A file that contains the database's address, for secrets that are mounted as files.
    database_file: Path | None = None
    #: Longest time to connect to PostgreSQL, in seconds.
    database_connect_s: float = 2.0
    #: Longest time of a statement, in seconds.
    database_statement_s: float = 2.0
    #: Longest time that a statement waits for a lock, in seconds.
    database_lock_s: float = 1.0
    #: Time after which the database ends an idle transaction, in seconds.
    database_idle_transaction_s: float = 10.0
    #: Connections for reads. The writer has another one.
    database_pool: int = 8

    #: The MQTT broker that connects several nodes: mqtt://user:password@host:port/prefix, or
    #: mqtts://… for TLS. All topics begin with the prefix, which may be left out.
    bus: str = field(default="", repr=False)
    #: A file that contains the broker's address, for secrets that are mounted as files.
    bus_file: Path | None = None
    #: Certificates to trust for the broker instead of the system's.
    bus_ca: Path | None = None
    #: The node's name in topics and logs, before a random part.
    node: str = ""

    #: Port of /metrics for Prometheus, and of /livez and /readyz for a proxy. Without one, the
    #: metrics are off.
    metrics_port: int | None = None
    #: Address to listen on for the metrics.
    metrics_host: str = "127.0.0.1"
    #: Lowest level that is logged: debug (each command with its id), info, warning or error.
    log: str = "info"

    #: For tests of crashes: the place and time at which the server kills itself (see
    #: server/process/failpoint.py).
    failpoint: str = ""

    #: Shortest time between the last move and an AI's answer to a person, in ms.
    ai_pace_ms: int = 350
    #: Shortest time between moves of two AI seats, so that people can watch, in ms.
    ai_duel_pace_ms: int = 700
    #: Time after which the server passes for a person with no other move, so that everyone sees the
    #: position, in ms.
    forced_pass_ms: int = 1000
    #: Time after a player's last connection when the opponent may claim a match without a clock, in
    #: ms. With a clock its speed decides (server/runtime/followers/absences.py).
    gone_ms: int = 60_000
    #: The same time for a player who has closed the page, in ms.
    page_closed_ms: int = 20_000
    #: Failed searches for a move after which the match ends, because the AI has none. Searches that
    #: are lost, because their processes died or hung, do not count.
    ai_tries: int = 2

    #: Requests of the HTTP API that each address may make in a minute; 0 means no limit.
    limit_requests_per_minute: int = 1_200
    #: Requests of the HTTP API that each address may make in a burst.
    limit_requests_burst: int = 3_000
    #: Replay views that each address may have computed in a minute, in hundreds of plies; 0 is no
    #: limit.
    limit_replays_per_minute: int = 120
    #: Replay views that each address may have computed in a burst, in hundreds of plies.
    limit_replays_burst: int = 600
    #: Traces and sets of boards that each address may have made in a minute; 0 means no limit.
    #: What is cached does not count.
    limit_traces_per_minute: int = 600
    #: Traces and sets of boards that each address may have made in a burst.
    limit_traces_burst: int = 600
    #: Messages that each connection may send in a second.
    messages_per_s: float = 50.0
    #: Messages that each connection may send in a burst.
    messages_burst: int = 200
    #: Rooms that each identity may create in a minute.
    rooms_per_minute: float = 12.0
    #: Rooms that each identity may create in a burst.
    rooms_burst: int = 20
    #: Maximum number of WebSocket connections of the node.
    max_connections: int = 20_000
    #: Maximum number of connections that are not WebSockets, or not yet. One address may have half
    #: of them.
    max_http: int = 4_000
    #: Maximum number of rooms in memory. The node opens no more until some are idle.
    max_rooms: int = 20_000

    # Limits of one address: an IPv4 address, or the /64 network of an IPv6 one. 0 means no limit.
    #: Guests that an address may create in a burst.
    limit_guests: int = 200
    #: Guests that an address may create in a minute after that.
    limit_guests_per_minute: int = 60
    #: Connections that an address may have open.
    limit_sockets: int = 2000
    #: Rooms that an address may create in a minute, and QR codes that it may request.
    limit_rooms_per_minute: int = 60
    #: Share of `max_rooms` that an address may hold, in percent.
    limit_rooms_percent: int = 10

    # Limits of the chat. 0 means no limit.
    #: Lines of chat that an identity may send to a room in 10 s; at most CHAT_STAMPS.
    limit_chat: int = 4
    #: Lines of chat that the spectators of a room may send in 10 s; at most CHAT_STAMPS.
    limit_chat_room: int = 20
    #: Last lines of an identity in a room from which its next line must differ.
    limit_chat_repeats: int = 3
    #: Questions that need a search, to the room's bot, that an identity may ask in a room in a
    #: minute; at most CHAT_STAMPS.
    limit_questions: int = 6
    #: Questions that need a search that the spectators of a room may ask in a minute; at most
    #: CHAT_STAMPS.
    limit_questions_room: int = 20
    #: Lines to the room's bot that only their author sees, that an identity may write in a room in
    #: a minute; at most CHAT_STAMPS.
    limit_private: int = 20
    #: Lines to its bot that only their authors see, that the spectators of a room may write in a
    #: minute; at most CHAT_STAMPS.
    limit_private_room: int = 40

    # Limits of the searches that an identity asks for: of questions on each node, of analyses on
    # all nodes together. 0 means no limit.
    #: Requests of each kind (questions, analyses) that run at once.
    limit_background_running: int = 1
    #: Further requests of each kind that wait.
    limit_background_waiting: int = 5
    #: Questions to the engine in an hour. The coach asks one for each move of its player.
    limit_asks_per_hour: int = 240
    #: Analyses in a day.
    limit_studies_per_day: int = 50

    # Limits of people's commands to rooms on each node: moves, offers, chat, changes of seats and
    # settings. The commands of AI seats and of the server do not count. 0 means no limit.
    #: Commands that an identity may send in a minute.
    limit_commands_per_minute: int = 300
    #: Commands that an identity may send in a burst.
    limit_commands_burst: int = 300
    #: Commands that an address may send in a minute; legal moves do not count.
    limit_commands_address_per_minute: int = 6_000
    #: Commands that an address may send in a burst; legal moves do not count.
    limit_commands_address_burst: int = 3_000
    #: Commands that a room may accept in a minute, or all at once.
    limit_commands_room_per_minute: int = 600

    # Limits of joins and of new seats on each node. 0 means no limit.
    #: Joins that an identity may send in a minute.
    limit_joins_per_minute: int = 180
    #: Joins that an identity may send in a burst.
    limit_joins_burst: int = 60
    #: Joins that an address may send in a minute.
    limit_joins_address_per_minute: int = 1_200
    #: Joins that an address may send in a burst.
    limit_joins_address_burst: int = 300
    #: Times that an identity may sit down in a room in a minute.
    limit_sits_per_minute: int = 1
    #: Times that an identity may sit down in a room in a burst.
    limit_sits_burst: int = 20
    #: Times that the people of an address may sit down in a room in a minute.
    limit_sits_address_per_minute: int = 2
    #: Times that the people of an address may sit down in a room in a burst.
    limit_sits_address_burst: int = 60

    @property
    def is_sole_node(self) -> bool:
        """Whether this node is the only user of its store."""
        return not self.database if self.sole_node is None else self.sole_node


def settings_from_env(environ: dict[str, str] | None = None) -> Settings:
    """The default settings with the changes from the environment.

    Raises SettingError, which names an invalid variable.
    """
    environ = dict(os.environ) if environ is None else environ
    changes: dict[str, object] = {}
    for setting in fields(Settings):
        variable = f"PLYROOM_{setting.name.upper()}"
        if variable not in environ or variable in ignored_settings(environ):
            continue
        try:
            changes[setting.name] = _parse_value(str(setting.type), environ[variable])
        except ValueError as error:
            raise SettingError(f"{variable} is {environ[variable]!r}; {error}") from error
    if "names" in changes:
        try:
            changes["names"] = parse_names(environ["PLYROOM_NAMES"])
        except ValueError as error:
            raise SettingError(
                f"PLYROOM_NAMES is {environ['PLYROOM_NAMES']!r}; {error};"
                " names as in play.example.org, *.example.net were expected"
            ) from error
    try:
        parse_proxies(changes.get("proxies", ()))  # type: ignore[arg-type]
    except ValueError as error:
        raise SettingError(f"PLYROOM_PROXIES is {environ['PLYROOM_PROXIES']!r}; {error}") from error
    if "url" in changes and not environ["PLYROOM_URL"].strip():
        del changes["url"]
    elif "url" in changes:
        try:
            changes["url"], name = parse_url(environ["PLYROOM_URL"])
        except ValueError as error:
            raise SettingError(
                f"PLYROOM_URL is {environ['PLYROOM_URL']!r}; {error};"
                " an address as in https://play.example.org was expected"
            ) from error
        changes["names"] = (*cast(tuple[str, ...], changes.get("names", ())), name)
    for name in ("port", "metrics_port"):
        if changes.get(name, 0) not in range(65536):
            raise SettingError(
                f"PLYROOM_{name.upper()} is {changes[name]}; a number up to 65535 was expected"
            )
    for name in CHAT_LIMITS:
        if changes.get(name, 0) not in range(CHAT_STAMPS + 1):
            raise SettingError(
                f"PLYROOM_{name.upper()} is {changes[name]};"
                f" a number from 0 (off) to {CHAT_STAMPS} was expected"
            )
    if changes.get("log", "info") not in LOG_LEVELS:
        raise SettingError(
            f"PLYROOM_LOG is {changes['log']!r}; one of {', '.join(LOG_LEVELS)} was expected"
        )
    if changes.get("database_pool", 1) == 0:
        raise SettingError("PLYROOM_DATABASE_POOL is 0; a number from 1 up was expected")
    return with_database(Settings(**changes))  # type: ignore[arg-type]


def ignored_settings(environ: Mapping[str, str]) -> list[str]:
    """The variables of ports that Kubernetes sets in each pod beside a service `plyroom` or
    `plyroom-metrics` ("Discovering services"): their values are no ports.
    """
    ports = ("PLYROOM_PORT", "PLYROOM_METRICS_PORT")
    return [name for name in ports if _SERVICE.fullmatch(environ.get(name, "").strip())]


def expand_user(path: Path) -> Path:
    """The path with `~` or `~name` as that user's home folder. Raises SettingError without one."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise SettingError(f"{path}: the folder of a user of this machine was expected") from error


def with_database(settings: Settings) -> Settings:
    """The settings with the database's address from `database_file`, if that is set."""
    if settings.database_file is None:
        return settings
    if settings.database:
        raise SettingError(
            "PLYROOM_DATABASE and PLYROOM_DATABASE_FILE are both set; one of them was expected"
        )
    try:
        address = settings.database_file.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SettingError(
            f"PLYROOM_DATABASE_FILE is {settings.database_file}, which cannot be read: {reason}"
        ) from None
    if not address:
        raise SettingError(f"PLYROOM_DATABASE_FILE is {settings.database_file}, which is empty")
    return replace(settings, database=address, database_file=None)


def _parse_value(kind: str, text: str) -> object:
    """Parses the text of a variable; `kind` is the setting's type.

    Raises ValueError, which says what was expected.
    """
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
        try:
            return expand_user(Path(text))
        except SettingError as error:
            raise ValueError(str(error)) from error
    return text
