"""Pictures of `plyroom` on a terminal with colours: the screenshots that no page is on.

The command runs on a real terminal. An emulator obeys its codes, and a browser draws the cells of
the screen in the colours of xterm, light and dark.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser
from pyte.screens import Char

from engine.rules.registry import game_ids, load_game
from tests.support.pseudo_terminal import environ, on_a_terminal, plyroom
from tests.support.terminals import COLUMNS, ROWS, EmulatedTerminal

Scheme = Literal["light", "dark"]
#: The prompt for a move.
PROMPT = "Your move (or help) > "
#: The plies before the picture of a game; a match that ends earlier is shown at its end.
PLIES = 24
#: Games whose pictures need more plies: until the board fills.
MORE_PLIES = {"othello": 44, "gomoku": 60, "hex": 50, "international-draughts": 40, "kalah": 12}
#: The colours of text and background.
PAPER: dict[Scheme, tuple[str, str]] = {
    "light": ("#000000", "#ffffff"),
    "dark": ("#e5e5e5", "#000000"),
}
#: The colours of xterm, which are the hardest to read among the usual ones. "brown" is yellow.
PALETTE = {
    "black": "#000000", "red": "#cd0000", "green": "#00cd00", "brown": "#cdcd00",
    "blue": "#0000ee", "magenta": "#cd00cd", "cyan": "#00cdcd", "white": "#e5e5e5",
}  # fmt: skip
STYLE = """
body { margin: 0; padding: 8px; width: max-content }
pre { margin: 0; font: 16px/19px "DejaVu Sans Mono", monospace }
"""


@dataclass(frozen=True)
class TerminalState:
    """What is typed into a command on a terminal before its picture is taken."""

    arguments: tuple[str, ...]
    lines: tuple[str, ...] = ()
    #: The value of TERM.
    term: str = "xterm-256color"
    columns: int = COLUMNS
    rows: int = ROWS
    has_colours: bool = True
    #: On the full screen: the keys that are pressed, each with words that are then shown. The first
    #: ones are no keys.
    steps: tuple[tuple[str, str], ...] = ()


def _random_moves(game_id: str) -> tuple[str, ...]:
    """The moves of a match that is the same each time, up to the picture of the game."""
    position, rng = load_game(game_id).start(), random.Random(game_id)
    moves: list[str] = []
    while len(moves) < MORE_PLIES.get(game_id, PLIES) and (tokens := position.tokens()):
        moves.append(rng.choice(tokens))
        position = position.play(position.parse_move(moves[-1]))
    return tuple(moves)


def _match(game_id: str) -> TerminalState:
    return TerminalState(("play", game_id, "--one-screen"), _random_moves(game_id))


def _screen(game_id: str, **more: Any) -> TerminalState:
    """A game on the full screen, in a position of its random match."""
    position = load_game(game_id).start()
    for token in _random_moves(game_id):
        position = position.play(position.parse_move(token))
    if not position.tokens():
        position = load_game(game_id).start()
    arguments = ("play", game_id, "--one-screen", "--start", position.text())
    return TerminalState(arguments, steps=(("", "Your move"),), **more)


#: A match against the computer, resigned, and its replay from the lobby.
REPLAY_STEPS = (
    ("", "Chess: Attack"), ("\r", "A new room"), ("\r", "Your move"), ("e4\r", "1. e4"),
    ("", "Your move"), ("resign\r", "Resign the match?"), ("y", "You lost"), ("quit\r", "Replays"),
    ("\x1b[F\r", "Start"), ("\x1b[C", "1. White: e4"),
)  # fmt: skip

#: Every state by the name of its files.
TERMINAL_STATES: dict[str, TerminalState] = {
    "terminal-start": TerminalState(("play", "chess", "--level", "1")),
    "terminal-help": TerminalState(("play", "chess", "--level", "1"), ("help",)),
    "terminal-narrow": TerminalState(("play", "hex", "--level", "1"), columns=40),
    "terminal-8-colours": TerminalState(
        ("play", "chess", "--one-screen"), _random_moves("chess"), term="xterm"
    ),
    **{f"terminal-{game_id}": _match(game_id) for game_id in game_ids()},
    "screen-first": TerminalState((), steps=(("", "Chess: Attack"),)),
    "screen-new-room": TerminalState((), steps=(("", "Chess: Attack"), ("n", "A new room"))),
    "screen-replay": TerminalState((), steps=REPLAY_STEPS),
    "screen-menu": TerminalState(
        ("play", "chess", "--level", "1"), steps=(("", "Your move"), ("?", "What you can do now"))
    ),
    "screen-small": _screen("chess", columns=40, rows=12),
    "screen-large": _screen("othello", columns=120, rows=40),
    "screen-8-colours": _screen("chess", term="xterm"),
    "screen-no-colours": _screen("draughts", has_colours=False),
    **{f"screen-{game_id}": _screen(game_id) for game_id in game_ids()},
}


def run_to_state(state: TerminalState, url: str, folder: Path) -> EmulatedTerminal:
    """Types the lines of a state, each at a prompt; returns the terminal after the last prompt."""
    env = environ(folder, TERM=state.term)
    if state.steps:
        env["PLYROOM_PLAIN"] = ""
    if not state.has_colours:
        env["NO_COLOR"] = "1"
    command = plyroom(*state.arguments, "--url", url)
    with on_a_terminal(command, env, state.columns, state.rows) as screen:
        if state.steps:
            terminal = EmulatedTerminal(state.columns, state.rows)
            for keys, words in state.steps:
                screen.send_keys(keys)
                screen.show(terminal, words)
            screen.rest(terminal)
            return terminal
        screen.expect(PROMPT)
        for line in state.lines:
            screen.type(line)
            screen.expect_one(PROMPT, "rematch or quit > ")
        terminal = EmulatedTerminal(state.columns, ROWS)
        terminal.write(screen.text)
        return terminal


def as_html(terminal: EmulatedTerminal, scheme: Scheme) -> str:
    """The screen of a terminal as a page."""
    text, paper = PAPER[scheme]
    rows = "\n".join(
        "".join(
            _spans((terminal.screen.buffer[row][col] for col in range(terminal.columns)), scheme)
        )
        for row in range(terminal.screen.lines)
    )
    style = f"{STYLE} body {{ color: {text}; background: {paper} }}"
    return f"<!doctype html><style>{style}</style><pre>{rows}</pre>"


def _spans(cells: Iterator[Char], scheme: Scheme) -> Iterator[str]:
    for style, run in groupby(cells, lambda cell: _css(cell, scheme)):
        text = escape("".join(cell.data for cell in run))
        yield f'<span style="{style}">{text}</span>' if style else text


def _css(cell: Char, scheme: Scheme) -> str:
    colour, ground = _colour(cell.fg), _colour(cell.bg)
    if cell.reverse:
        text, paper = PAPER[scheme]
        colour, ground = ground or paper, colour or text
    styles = [f"color: {colour}"] if colour else []
    styles += [f"background: {ground}"] if ground else []
    return "; ".join([*styles, *(["font-weight: bold"] if cell.bold else [])])


def _colour(name: str) -> str:
    """A colour of pyte as one of a page; "" for the default."""
    return "" if name == "default" else PALETTE.get(name, f"#{name}")


async def take_terminal(browser: Browser, terminal: EmulatedTerminal, path: Path) -> None:
    """Writes the pictures of a terminal, light and dark; `path` is the beginning of their names."""
    page = await browser.new_page()
    try:
        for scheme in PAPER:
            await page.set_content(as_html(terminal, scheme))
            picture = path.with_name(
                f"{path.name}-{terminal.columns}x{terminal.screen.lines}-{scheme}.png"
            )
            await page.locator("body").screenshot(path=picture)
    finally:
        await page.close()
