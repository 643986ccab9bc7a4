"""python -m engine.warm [GAME...]: compiles the search for these games, by default for all, and
stores it in the cache on disk.
"""

import argparse
import sys
import time

from engine.game import GameError, GameFault
from engine.rules.registry import load_game, production_ids


def main(arguments: list[str] | None = None) -> int:
    """Compiles the games and prints one line for each.

    Returns 0 if all compile, 1 if one does not, 2 for an unknown game.
    """
    parser = argparse.ArgumentParser(prog="python -m engine.warm", description=__doc__)
    parser.add_argument("game", nargs="*")
    args = parser.parse_args(arguments)
    from engine.search.driver import Searcher
    from engine.search.persona import Personas

    code = 0
    for game_id in args.game or production_ids():
        start_s = time.perf_counter()
        try:
            searcher = Searcher(load_game(game_id))
            searcher.prepare()
            Personas(searcher).prepare()
        except GameError as error:
            print(f"warm: {error}", file=sys.stderr)
            return 2
        except GameFault as error:
            print(f"warm: {error}", file=sys.stderr)
            code = 1
        else:
            print(f"{game_id}: ready in {time.perf_counter() - start_s:.1f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
