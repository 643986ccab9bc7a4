"""`plyroom games`: lists the games of this machine or of a server."""

from typing import TYPE_CHECKING

import click

from client.address import Address
from client.subcommands.options import json_option, url_option
from client.subcommands.running import call_api

if TYPE_CHECKING:
    from client.api import GameInfo


@click.command()
@url_option
@json_option
def games(url: Address | None, as_json: bool) -> None:
    """List the games with their options and levels.

    The games are those of this machine, or those of --url.
    """
    import msgspec

    for game in call_api(lambda: list_games(url)):
        if as_json:
            fields = msgspec.structs.asdict(game)
            del fields["level_names"], fields["view"]  # for the full screen
            click.echo(msgspec.json.encode(fields))
            continue
        also = f" ({', '.join(game.aliases)})" if game.aliases else ""
        click.echo(f"{game.id}{also}: {game.title}, {_levels_text(game.levels)}")
        if game.goal:
            click.echo(f"    {game.goal}")
        for name, option in game.options.items():
            values = [
                f"{value} (default)" if value == option.default else value
                for value in option.offered
            ]
            more = ", or others like these" if option.free else ""
            click.echo(f"    --option {name}=...: {option.title}; {', '.join(values)}{more}")


def _levels_text(levels: int) -> str:
    if levels > 1:
        return f"levels 1 to {levels}"
    return "one level" if levels else "strategies instead of levels"


def list_games(url: Address | None) -> "tuple[GameInfo, ...]":
    """The games of a server, or of this machine where `url` is None."""
    from client.api import GameInfo, OptionInfo, fetch_games

    if url is not None:
        return fetch_games(url)
    from engine.rules.registry import game_ids, load_game

    def load_info(game_id: str) -> GameInfo:
        game = load_game(game_id)
        options = {
            name: OptionInfo(option.title, option.default, option.offered, option.free)
            for name, option in game.options.items()
        }
        return GameInfo(
            game.id, game.title, game.levels, options, game.rules.RULES, game.rules.SEARCH,
            game.rules.ALIASES, game.goal,
        )  # fmt: skip

    games = []
    for game_id in game_ids():
        try:
            games.append(load_info(game_id))
        # A plug-in's file may raise any exception; the other games stay playable.
        except Exception as error:
            click.echo(f"{game_id} is left out: {type(error).__name__}: {error}", err=True)
    return tuple(games)
