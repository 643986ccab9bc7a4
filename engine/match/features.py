"""The search features of a player: the game's usual ones, changed by its description."""

from collections.abc import Iterable

from engine.game import Game
from engine.match.description import Description, DescriptionError
from engine.search import features

#: The names in a rules file (see OptionalRules) without which a feature has no effect.
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
#: The settings of a description that select features.
SETTINGS = ("only", "with", "without")


def usable_features(game: Game) -> tuple[str, ...]:
    """The features that have an effect in a game: the general ones and those its hooks allow."""
    return tuple(
        name
        for name in features.FEATURE
        if all(getattr(game.rules, need) for need in NEEDS.get(name, ()))
    )


def check_usable(game: Game, names: Iterable[str]) -> None:
    """Raises DescriptionError for a feature that has no effect in this game."""
    can_use = usable_features(game)
    for name in names:
        if name not in can_use:
            raise DescriptionError(f"{game.id} can use {', '.join(can_use)}, not {name!r}")


def features_of(description: Description, usual: int) -> int:
    """The enabled features as a bit mask.

    They are those that `only` names, or the game's usual ones plus those of `with`, minus those of
    `without`. Raises DescriptionError if these settings conflict, and for an unknown name; then its
    message lists the known ones.
    """
    given = [setting for setting in SETTINGS if setting in description.settings]
    if "only" in given and len(given) > 1:
        raise DescriptionError("choose either only=… or with=… and without=…")
    only, more, fewer = (_bits(description.names(setting)) for setting in SETTINGS)
    if more & fewer:
        raise DescriptionError("a feature is either in with=… or in without=…")
    return only if "only" in given else (usual | more) & ~fewer


def _bits(names: Iterable[str]) -> int:
    """The bit mask of the features with these names."""
    bits = 0
    for name in names:
        if name not in features.FEATURE and name != "basic":
            known = ", ".join(features.FEATURE)
            raise DescriptionError(
                f"the search has no feature {name!r}; it has {known}, and basic for the first three"
            )
        bits |= features.BASIC if name == "basic" else features.FEATURE[name]
    return bits
