"""The HTTP API for the strategies that an AI seat may have."""

from aiohttp import web

from engine.search.job import MAX_STRATEGY_DEPTH
from engine.strategies.contract import DEFAULT_DEPTH
from engine.strategies.names import FIXED_DEPTHS, title_of
from engine.strategies.registry import strategy_names
from server.web.answers import json_answer


async def strategies(request: web.Request) -> web.Response:
    """Lists the strategies of this server, their depths in plies, and the evaluators.

    A strategy with a `fixed_depth` takes no other; `material` takes weights, as in
    `material:queen=9,rook=5`.
    """
    # Importing the teaching search takes 20 ms, which most servers need not spend.
    from engine.teach.states.evaluators import EVALUATORS

    entries = [
        {"name": name, "title": title_of(name), "fixed_depth": FIXED_DEPTHS.get(name)}
        for name in strategy_names()
    ]
    depth = {"default": DEFAULT_DEPTH, "max": MAX_STRATEGY_DEPTH}
    return json_answer({"strategies": entries, "depth": depth, "evaluators": EVALUATORS})
