"""The compiled code of a game, with everything that tests call, compiled at once.

Each function that Python calls is compiled with the code of the rules and of the search. One
process that compiles all of them translates that code once; the processes of a test run that
compile one function each translate it again and again, which takes more than twice the time.
"""

import gc
from collections.abc import Sequence

from engine.compiler import code_cache
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
    fill_cache(game)
    searcher = Searcher(game)
    searcher.prepare()
    return searcher


def fill_cache(game: Game) -> None:
    """Compiles the functions of a game and its solver, unless they are in the cache.

    One process compiles the game; the others wait for it. The cache records the game as ready: a
    server would else start a process, in each test anew, that compiles what is not recorded.
    """
    if is_cached(game):
        return
    with code_cache.locked(CACHE, f"{game.id}.whole"):
        if not is_cached(game):
            searcher = Searcher(game)
            for name in functions_of(game):
                searcher.native.function(name)
            searcher.prepare()
            code_cache.note_ready(game.id, game.digest, step_of(game))
            gc.collect()  # the game's types and intermediate code are cycles of objects


def is_cached(game: Game) -> bool:
    """Returns whether the cache holds all functions of a game; none is loaded to see it."""
    return code_cache.is_ready(game.id, game.digest, step_of(game))


def step_of(game: Game) -> str:
    """The name under which the cache records that it holds all functions of a game."""
    return " ".join(["tests", *functions_of(game)])


def compile_all(number: int, count: int) -> None:
    """Compiles all games, in the process `number` of `count`.

    The processes of a parallel run begin with different games, because a game that one of them
    compiles makes the others wait.
    """
    games = production_ids()
    first = len(games) * number // count
    compile_games(games[first:] + games[:first])


def compile_games(games: Sequence[str]) -> None:
    """Compiles games in turn."""
    for game_id in games:
        fill_cache(load_game(game_id))
