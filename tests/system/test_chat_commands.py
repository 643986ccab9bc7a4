"""The chat commands of another package, written from the documentation alone, in a real server."""

import asyncio
import os
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from client.connection import Connection, connect
from client.messages import LoggedEvent
from server.commands import Chat, Create
from server.events import Said
from server.protocol.messages import Answer, CommandFrame
from tests.support.documented import DOCS, install
from tests.support.players import QUICK_TIMING
from tests.support.server_process import ROOT, assert_no_traceback, serving

PAGE = DOCS / "how-to" / "chat-commands.md"


async def ask(connection: Connection, room: str, *questions: str) -> list[Answer | Said]:
    """Asks questions in a room, each after the answer to the last; returns the bot's answers."""
    answers: list[Answer | Said] = []
    waiting = list(questions)

    async def ask_next() -> None:
        if waiting:
            text = waiting.pop(0)
            await connection.command(CommandFrame(room, Chat(id=connection.new_id(), text=text)))

    async with aclosing(connection.follow(room)) as messages:
        asking = asyncio.create_task(ask_next())
        async for message in messages:
            content = message.event if isinstance(message, LoggedEvent) else message
            if isinstance(content, Answer) or (isinstance(content, Said) and content.by == "bot"):
                answers.append(content)
                if len(answers) == len(questions):
                    break
                await asking
                asking = asyncio.create_task(ask_next())
    return answers


@pytest.mark.usefixtures("warm_engine")
async def test_the_documented_commands_answer_in_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documented package's own test passes, and its commands answer in a running server.

    One answers everyone, one the asker alone, and one with a search; `/help` lists them.
    """
    site = tmp_path / "site"
    site.mkdir()
    install(site, PAGE)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{site}")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(site)],
        capture_output=True, text=True, cwd=site, timeout=120,
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout + tested.stderr
    async with (
        serving(tmp_path / "data", workers=1) as server,
        connect(server.url, timing=QUICK_TIMING) as ada,
        asyncio.timeout(60),
    ):
        create = Create(id=ada.new_id(), game="tic-tac-toe", one_screen=True)
        room = (await ada.command(create)).room
        assert isinstance(room, str)
        questions = "/roll", "/mobility", "/glance", "/help"
        rolled, counted, glanced, listed = await ask(ada, room, *questions)
        assert isinstance(rolled, Said)
        assert rolled.text.startswith("The die shows ")
        assert isinstance(counted, Answer)
        assert counted.text == "There are 9 moves."
        assert isinstance(glanced, Answer)
        assert glanced.text.startswith("At a glance: ")
        assert glanced.arrows
        assert "/roll throws a die" in listed.text
        assert "/mobility counts" in listed.text
        assert "/glance names" in listed.text
        assert await server.stop() == 0
        assert_no_traceback(server)
