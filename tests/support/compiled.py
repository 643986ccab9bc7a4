"""The compiled code of a game, with everything that tests call, compiled at once.

Each function that Python calls is compiled with the code of the rules and of the search. One
process that compiles all of them translates that code once; the processes of a test run that
compile one function each translate it again and again, which takes more than twice the time.
"""

import gc

from engine.compiler import code_cache
from engine.compiler.code_cache import Access, CacheBusy, NotCached
from engine.compiler.native import CACHE
from engine.game import Game
from engine.rules.contract import OPTIONAL_HOOKS
from engine.rules.registry import load_game, production_ids
from engine.search.driver import Searcher

#: The rules of every game.
REQUIRED = ("status", "moves", "play", "no_moves_result", "key", "evaluate", "count")


def functions_of(game: Game) -> list[str]:
    """Returns the names of the compiled functions that the conformance kit and tests call."""
    rules = [
        *REQUIRED,
        *(
            name
            for name in OPTIONAL_HOOKS
            if name not in REQUIRED and getattr(game.rules, name) is not None
        ),
        *(["turn"] if game.rules.EXTRA_TURNS else []),
    ]
    return ["root", *(f"rule_{name}" for name in rules), "perft", "plain"]


def compiled(game: Game) -> Searcher:
    """Returns the game's searcher; its functions are in the cache.

    Personas are not among them: few tests use them, and they take a quarter of the time.
    """
    searcher = Searcher(game)
    fill_cache(searcher)
    searcher.prepare()
    return searcher


def fill_cache(searcher: Searcher) -> None:
    """Compiles the functions of a game, unless they are in the cache.

    One process compiles the game; the others wait for it.
    """
    names = functions_of(searcher.game)
    if is_cached(searcher, names[-1]):
        return
    with code_cache.locked(CACHE, f"{searcher.game.id}.whole"):
        if not is_cached(searcher, names[-1]):
            for name in names:
                searcher.native.function(name)
            gc.collect()  # the game's types and intermediate code are cycles of objects


def is_cached(searcher: Searcher, name: str) -> bool:
    """Returns whether a function is in the cache, from which it is loaded."""
    try:
        with code_cache.with_access(Access.LOAD):
            searcher.native.function(name)
    except (NotCached, CacheBusy):
        return False
    return True


def compile_all(number: int, count: int) -> None:
    """Compiles all games, in the process `number` of `count`.

    The processes of a parallel run begin with different games, because a game that one of them
    compiles makes the others wait.
    """
    games = production_ids()
    first = len(games) * number // count
    for game_id in games[first:] + games[:first]:
        fill_cache(Searcher(load_game(game_id)))
