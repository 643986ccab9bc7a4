"""Serves a player of this checkout to another version of the project (`checkout_player`):

python -m engine.match.checkout GAME DESCRIPTION [OPTION=VALUE …]
"""

import sys

import msgspec

from engine.game import Game, GameError
from engine.match.checkout_player import Answer, Request
from engine.match.description import DescriptionError, parse_description
from engine.match.making import make_player
from engine.match.play import PlayerFailed, Situation
from engine.rules.registry import load_game


def main(arguments: list[str]) -> int:
    """Serves a player of this checkout: GAME DESCRIPTION [OPTION=VALUE …].

    It reads requests from stdin, one per line, until an empty request.
    """
    try:
        game = load_game(arguments[0])
        options = game.check_options(dict(pair.split("=", 1) for pair in arguments[2:]))
        player = make_player(parse_description(arguments[1]), game, options)
    except (DescriptionError, GameError) as error:
        for _ in sys.stdin:
            print(msgspec.json.encode(Answer(failed=str(error))).decode(), flush=True)
        return 2
    for line in sys.stdin:
        request = msgspec.json.decode(line, type=Request)
        if request == Request():
            break
        answer = Answer()
        try:
            if request.seat is not None:
                player.begin(request.seat)
            else:
                choice = player.choose(_situation(game, options, request))
                answer = Answer(choice.move, choice.score, choice.nodes)
        except (PlayerFailed, GameError) as error:
            answer = Answer(failed=str(error) or type(error).__name__)
        print(msgspec.json.encode(answer).decode(), flush=True)
    player.close()
    return 0


def _situation(game: Game, options: dict[str, str], request: Request) -> Situation:
    start = position = game.position(request.start, options)
    for token in request.moves:
        position = position.play(position.parse_move(token))
    return Situation(start, request.moves, position, request.seed, request.clocks_ms)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
