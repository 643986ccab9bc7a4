"""The fixture `run`, which runs tests of the connection in memory and over a real WebSocket."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.support.scripted_server import Backend, memory, websocket
from tests.support.virtual_time import run_virtual

#: A test of the connection; it connects through the backend that it is given.
Test = Callable[[Backend], Coroutine[Any, Any, None]]


@pytest.fixture(params=["memory", "websocket"])
def run(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    """Runs a test function: once in memory with virtual time, once over a real WebSocket."""
    if request.param == "memory":
        return lambda test: run_virtual(test(memory))
    return lambda test: asyncio.run(test(websocket))
