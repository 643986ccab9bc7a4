"""The formats of files that games are written in and read from, by name."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from engine.formats.record import BadGame, FindGame, GameRecord

#: Reads the games of a file, given in parts of any size: each is a record or a game that is bad.
Parse = Callable[[Iterable[bytes], FindGame], Iterator[GameRecord | BadGame]]
#: Writes games: each text of the result is that of one game, with what separates it from the next.
Write = Callable[[Iterable[GameRecord], FindGame], Iterator[str]]


class Format(Struct, frozen=True):
    """A format of files.

    `games` are the ids of the games that it is for, None if it is for all. `suffix` has no dot.
    `title` says in a menu what the format is.
    """

    name: str
    title: str
    suffix: str
    media_type: str
    games: tuple[str, ...] | None
    format: Write
    parse: Parse | None = None

    def is_for(self, game: str) -> bool:
        """Whether games with this id can be written in the format."""
        return self.games is None or game in self.games


#: All formats by name.
FORMATS: dict[str, Format] = {}
