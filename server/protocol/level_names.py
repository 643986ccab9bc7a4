"""The names of a game's levels, for people."""

#: The names of eight levels, from the lowest to the highest.
LEVEL_NAMES = (
    "Beginner", "Novice", "Casual", "Skilled", "Advanced", "Expert", "Champion", "Master",
)  # fmt: skip


def level_names(count: int) -> tuple[str, ...]:
    """The names of a game's levels: the lowest is the first of LEVEL_NAMES, the highest the last.

    Fewer levels have names from all over the list; a game without levels has none.
    """
    if count < 2:
        return LEVEL_NAMES[len(LEVEL_NAMES) - count :]
    last = len(LEVEL_NAMES) - 1
    return tuple(LEVEL_NAMES[level * last // (count - 1)] for level in range(count))
