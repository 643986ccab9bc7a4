"""docs/how-to/terminal.md describes every command and every option of `plyroom`."""

from pathlib import Path

import click
import pytest

from client.cli import main
from client.terminal.commands import SHORT_FORMS, SYNONYMS, CommandName
from client.tui.room import KEYS_OF_WORDS

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "terminal.md").read_text("utf-8")
OPTIONS = sorted(
    {
        name
        for command in main.commands.values()
        for parameter in command.params
        for name in parameter.opts
        if name[:2] == "--"
    }
)


@pytest.mark.parametrize("command", main.commands)
def test_every_command_is_described(command: str) -> None:
    assert f"| `plyroom {command}" in PAGE


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_described(option: str) -> None:
    assert f"{option}" in PAGE


@pytest.mark.parametrize("name", CommandName)
def test_every_command_in_a_match_is_described(name: CommandName) -> None:
    assert f"`{name.value}`" in PAGE


@pytest.mark.parametrize("short", [short for short in SHORT_FORMS if len(short) == 1])
def test_every_short_form_is_described(short: str) -> None:
    assert f"| `{SHORT_FORMS[short].value}` | `{short}` |" in PAGE


@pytest.mark.parametrize("word", [*SHORT_FORMS, *SYNONYMS, *KEYS_OF_WORDS])
def test_every_other_word_is_described(word: str) -> None:
    assert f"`{word}`" in PAGE


def test_the_environment_variable_is_described() -> None:
    play = main.commands["play"]
    assert any(
        isinstance(parameter, click.Option) and parameter.envvar == "PLYROOM_URL"
        for parameter in play.params
    )
    assert "`PLYROOM_URL`" in PAGE
