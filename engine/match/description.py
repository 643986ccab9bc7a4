"""Descriptions of players: "level=5", "nodes=20000,without=lmr", "uci=stockfish,elo=2000"."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.command_line import MAX_NUMBER
from engine.search.job import Limit
from engine.search.levels import ANY_MARGIN, SLIPS_OF
from engine.search.work import MAX_CONTEMPT

#: The kinds of player besides "search", which has limits of its own.
KINDS = ("level", "persona", "strategy", "greedy", "two-ply", "uci", "xboard", "gtp", "checkout")
#: The kinds that are written without a value.
WITHOUT_VALUE = ("greedy", "two-ply")
#: The settings that become a search limit.
LIMITS = ("nodes", "depth", "time_ms")
#: The kinds that run an external program.
EXTERNAL = ("uci", "xboard", "gtp")
#: A day in milliseconds, the longest time that a player may have.
DAY_MS = 86_400_000
#: The minimum and the maximum of each number. A clock has two numbers, base and increment, in ms.
RANGES = {
    "nodes": (1, MAX_NUMBER),
    "depth": (1, 1000),
    "time_ms": (1, DAY_MS),
    "clock": (0, DAY_MS),
    "margin": (0, ANY_MARGIN),
    "slip": (0, SLIPS_OF),
    "table_bits": (4, 28),
    "threads": (1, 64),
    "contempt": (-MAX_CONTEMPT, MAX_CONTEMPT),
    "elo": (0, 10_000),
}

#: The settings of each kind. A UCI program also takes `set.NAME=VALUE`, and a checkout takes the
#: settings of the player that it runs.
SETTINGS_OF: dict[str, tuple[str, ...]] = {
    "search": (
        *LIMITS, "clock", "only", "with", "without", "margin", "slip", "table_bits", "table",
        "threads", "contempt", "ponder",
    ),
    "level": (),
    "persona": (),
    "strategy": ("depth", "evaluator"),
    "greedy": (),
    "two-ply": (),
    "uci": (*LIMITS, "clock", "elo"),
    "xboard": ("depth", "time_ms", "clock"),
    "gtp": ("time_ms",),
}  # fmt: skip


class DescriptionError(ValueError):
    """The text does not describe a player; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of a player for a whole game, and the increment per move."""

    base_ms: int
    increment_ms: int


@dataclass(frozen=True, slots=True)
class Description:
    """A player: its kind, the kind's value (level, persona, program or directory), its settings.

    `text` is what the user wrote. It identifies the player in logs: a different text is a different
    player.
    """

    text: str
    kind: str
    value: str = ""
    limit: Limit = field(default_factory=Limit)
    clock: Clock | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def names(self, setting: str) -> tuple[str, ...]:
        """The names in a setting that is a list, such as a+b+c."""
        return tuple(name for name in self.settings.get(setting, "").split("+") if name)

    def number(self, setting: str, default: int) -> int:
        """A setting that is a number, within its RANGES; DescriptionError if it is outside."""
        return _number(setting, self.settings[setting]) if setting in self.settings else default

    def choice(self, setting: str, among: Sequence[str]) -> str:
        """A setting that is one of the words `among`, by default the first of them."""
        word = self.settings.get(setting, among[0])
        if word not in among:
            raise DescriptionError(f"{setting} is {' or '.join(among)}, not {word[:40]!r}")
        return word


def parse_description(text: str) -> Description:
    """The player that a text describes; DescriptionError says what was expected."""
    pairs = _pairs(text)
    if "checkout" in pairs:
        return _checkout(text, pairs)
    kinds = [name for name in pairs if name in KINDS]
    if len(kinds) > 1:
        raise DescriptionError(f"{text!r} is {' and '.join(kinds)} at once; choose one")
    kind = kinds[0] if kinds else "search"
    value = pairs.pop(kind, "")
    if kind not in ("search", *WITHOUT_VALUE) and not value:
        raise DescriptionError(f"{kind} needs a value: {kind}=…")
    for name in pairs:
        if name not in SETTINGS_OF[kind] and not (kind == "uci" and name.startswith("set.")):
            known = ", ".join(SETTINGS_OF[kind]) or "no settings"
            more = " and set.NAME=VALUE" if kind == "uci" else ""
            raise DescriptionError(
                f"a {kind} player has no setting {name!r}; it takes {known}{more}"
            )
    limit, clock = _limit(pairs), _clock(pairs)
    if kind == "search" and limit == Limit() and clock is None:
        raise DescriptionError(
            f"{text!r} sets no limit: give nodes, depth, time_ms or clock,"
            f" or one of {', '.join(KINDS)}"
        )
    description = Description(text, kind, value, limit, clock, pairs)
    for setting in pairs.keys() & RANGES.keys() - {"clock"}:
        description.number(setting, 0)
    return description


def ponders(description: Description) -> bool:
    """Whether a search ponders.

    Raises DescriptionError if it has no time limit or may play a move that is not its best.
    """
    if description.choice("ponder", ("no", "yes")) == "no":
        return False
    if description.clock is None and description.limit.time_ms is None:
        raise DescriptionError(
            "ponder=yes needs time_ms or clock: with nodes or depth alone it gains no time"
        )
    if description.number("margin", 0) or description.number("slip", 0):
        raise DescriptionError("a player with margin or slip does not ponder")
    return True


def _checkout(text: str, pairs: dict[str, str]) -> Description:
    """A player of another checkout, which checks the rest of the text itself."""
    directory = pairs.pop("checkout")
    if not directory or not pairs:
        raise DescriptionError(
            f"{text!r} needs a directory and a player: checkout=DIRECTORY,nodes=5000"
        )
    return Description(text, "checkout", directory, _limit(pairs), _clock(pairs), pairs)


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if not name or (not value and name not in WITHOUT_VALUE):
            raise DescriptionError(
                f"a player is written as NAME=VALUE,NAME=VALUE; {part.strip()!r} is not"
            )
        if name in pairs:
            raise DescriptionError(f"{name} is given twice in {text!r}")
        pairs[name] = value
    return pairs


def _limit(pairs: dict[str, str]) -> Limit:
    return Limit(**{name: _number(name, pairs[name]) for name in LIMITS if name in pairs})


def _clock(pairs: dict[str, str]) -> Clock | None:
    if "clock" not in pairs:
        return None
    base, _, increment = pairs["clock"].partition("+")
    clock = Clock(_number("clock", base), _number("clock", increment or "0"))
    if not clock.base_ms:
        raise DescriptionError(
            "clock needs time for the game: write 3000+50, in ms per game and per move"
        )
    return clock


def _number(name: str, text: str) -> int:
    least, most = RANGES[name]
    try:
        number = int(text) if len(text) <= 20 else None
    except ValueError:
        number = None
    if (
        number is None
        or not text.isascii()
        or not text.lstrip("-").isdecimal()
        or not least <= number <= most
    ):
        more = " (a clock: 3000+50, in ms)" if name == "clock" else ""
        raise DescriptionError(
            f"{name} is a whole number from {least} to {most:,}{more}, not {text[:40]!r}"
        )
    return number
