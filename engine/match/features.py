"""Which techniques of the search a player has: those that pay for the game, and what its text adds
or takes away.
"""

from collections.abc import Iterable

from engine.game import Game
from engine.match.description import Description, DescriptionError
from engine.search import layout

#: What a technique is nothing without, of the names in a rules file (see MoreRules).
NEEDS = {
    "repetition": ("repetition",),
    "rank": ("rank",),
    "quiescence": ("tactical",),
    "extensions": ("unstable",),
    "null-move": ("may_pass", "pass_turn"),
    "bad-captures": ("tactical", "rank"),
    "probe": ("probe",),
    "futility": ("MARGIN",),
    "quiet-table": ("tactical",),
    "improving": ("MARGIN",),
}
SETTINGS = ("only", "with", "without")


def usable(game: Game) -> tuple[str, ...]:
    """The techniques that make a difference in a game: the general ones, and those that it gives
    the rules for.
    """
    return tuple(
        name
        for name in layout.FEATURE
        if all(getattr(game.rules, need, None) for need in NEEDS.get(name, ()))
    )


def check_usable(game: Game, names: Iterable[str]) -> None:
    """DescriptionError for a technique that changes nothing in this game: a match over it would say
    nothing.
    """
    can_use = usable(game)
    for name in names:
        if name not in can_use:
            raise DescriptionError(f"{game.id} can use {', '.join(can_use)}, not {name!r}")


def techniques_of(description: Description, usual: int) -> int:
    """The search's techniques that are switched on: `only` those that are named, or the usual ones
    of the game `with` some more and `without` others. DescriptionError names those that there are.
    """
    given = [setting for setting in SETTINGS if setting in description.settings]
    if "only" in given and len(given) > 1:
        raise DescriptionError("choose either only=… or with=… and without=…")
    only, more, fewer = (_bits(description.names(setting)) for setting in SETTINGS)
    if more & fewer:
        raise DescriptionError("a technique is either in with=… or in without=…")
    return only if "only" in given else (usual | more) & ~fewer


def _bits(names: Iterable[str]) -> int:
    """The techniques of these names."""
    bits = 0
    for name in names:
        if name not in layout.FEATURE and name != "basic":
            known = ", ".join(layout.FEATURE)
            raise DescriptionError(
                f"the search has no technique {name!r}; it has {known}, and basic for the first three"
            )
        bits |= layout.BASIC if name == "basic" else layout.FEATURE[name]
    return bits
