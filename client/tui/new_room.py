"""The sheet for a new room: fields whose values the arrow keys change, and a position to type."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from client.api import GameInfo
from client.terminal.names import ON_ONE_SCREEN
from client.terminal.words import quoted
from client.terminal.wrapping import visible_width
from client.tui.sheets import SHEET_CSS, keys_line
from server.commands import AiSeat, Create, MySeat, OpenSeat, SeatWish, ThinkingSetting
from server.time_controls import TimeControlError, format_control, parse_people

#: The level of the computer that the sheet begins with.
FIRST_LEVEL = 3
#: The personas of the computer.
PERSONAS = ("average", "swindler", "random")
#: The usual clocks, as people write them and in the order of the browser's sheet; "" is none.
CLOCKS = ("", "1+0", "3+2", "5+3", "10+5", "15+10", "30+0")
#: What the line for the start position asks for, and the last line of the sheet.
PLACEHOLDER = "Start position as text; for chess a FEN (or leave empty)"
HINT = (("Enter creates it", "create"), ("Esc goes back", "drop"), ("Arrows choose", ""))
#: The columns of the names of the fields.
NAME_COLUMNS = 12
#: The rows of the sheet beside its fields, with its border.
SHEET_ROWS = 6
#: Whether a room is in the list at first: for a friend, on one screen, and with any other opponent.
LISTED_AT_FIRST = {"friend": "no", "screen": "no", "": "yes"}
#: Who sees the AI's thinking.
THINKING: tuple[tuple[ThinkingSetting, str], ...] = (
    ("all", "everyone sees it"),
    ("spectators", "only spectators see it"),
    ("after", "after the match"),
)


@dataclass(slots=True)
class Field:
    """A line of the sheet: its name, and its values with their texts, of which one is chosen."""

    name: str
    values: Sequence[str]
    texts: Sequence[str]
    index: int = 0

    @property
    def value(self) -> str:
        """The chosen value."""
        return self.values[self.index]

    def step(self, steps: int) -> None:
        """Chooses another value, round and round."""
        self.index = (self.index + steps) % len(self.values)

    @property
    def title(self) -> str:
        """The name as the sheet shows it."""
        return self.name.removeprefix("option ").capitalize()

    @property
    def sign_column(self) -> int:
        """The column of the sign `<` before the value."""
        return max(NAME_COLUMNS, visible_width(self.title)) + 1

    def choose(self, value: str) -> None:
        """Chooses a value if the field has it; otherwise the field keeps its own."""
        if value in self.values:
            self.index = list(self.values).index(value)


def fields_of(game: GameInfo, strategies: Sequence[str]) -> list[Field]:
    """The fields for a game, below the game itself."""
    opponents = [("friend", "a friend, by a link"), ("anyone", "anyone, from the server's list")]
    opponents += [("screen", "both sides on this screen")]
    for n in range(1, game.levels + 1):
        name = f": {game.level_names[n - 1]}" if len(game.level_names) >= n else ""
        opponents.append((f"level {n}", f"computer, level {n}{name}"))
    if game.levels:
        opponents += [(f"persona {name}", f"computer, {name}") for name in PERSONAS]
    opponents += [(f"strategy {name}", f"the strategy {name}") for name in strategies]
    values = [value for value, _ in opponents]
    first = f"level {min(FIRST_LEVEL, game.levels)}" if game.levels else values[-1]
    options = [
        Field(
            f"option {name}", option.offered, option.offered, option.offered.index(option.default)
        )
        for name, option in game.options.items()
        if option.default in option.offered
    ]
    titles = [option.title for option in game.options.values() if option.default in option.offered]
    for field, title in zip(options, titles, strict=True):
        field.texts = [f"{title}: {value}" for value in field.values]
    return [
        Field("Opponent", values, [text for _, text in opponents], values.index(first)),
        Field("You play", ("0", "1", "random"), (*_side_texts(game), "a random side")),
        *options,
        Field("Clock", CLOCKS, [clock or "untimed" for clock in CLOCKS]),
        Field("In the list", ("yes", "no"), ("everyone sees it there", "hidden: only by its link")),
        Field("Thinking", [value for value, _ in THINKING], [text for _, text in THINKING]),
    ]


def _side_texts(game: GameInfo) -> tuple[str, str]:
    """The two sides of a game: "White, who begins", or by their order."""
    if game.view is None or len(game.view.seats) != 2:
        return "the first side", "the second side"
    first, second = (quoted(seat.name) for seat in game.view.seats)
    return f"{first}, who begins", second


def fields_after(
    wished: Mapping[str, str], game: GameInfo, strategies: Sequence[str]
) -> list[Field]:
    """The fields for another game, with what the user wished for by name where it has that too."""
    fields = fields_of(game, strategies)
    for field in fields:
        if field.name in wished:
            field.choose(wished[field.name])
    return fields


def step_field(fields: Sequence[Field], number: int, steps: int, listed: dict[str, str]) -> None:
    """Changes the value of a field. `listed` has whether a room is in the list by the kind of its
    opponent: with another kind the sheet shows what was chosen for that one.
    """
    by_name = {field.name: field for field in fields}
    opponent, listing = by_name["Opponent"], by_name["In the list"]
    before = _listed_as(opponent.value)
    fields[number].step(steps)
    if (kind := _listed_as(opponent.value)) != before:
        listed[before] = listing.value
        listing.choose(listed.get(kind, LISTED_AT_FIRST[kind]))


def _listed_as(opponent: str) -> str:
    """The key of LISTED_AT_FIRST for an opponent."""
    return opponent if opponent in LISTED_AT_FIRST else ""


def create_command(
    command_id: str, game: GameInfo, fields: Sequence[Field], start: str, second: int
) -> Create:
    """The command for the room of the sheet. `second` is 1 if a random side is the second one."""
    chosen = {field.name: field.value for field in fields}
    kind, _, name = chosen["Opponent"].partition(" ")
    opponent: SeatWish = OpenSeat()
    match kind:
        case "level":
            opponent = AiSeat(level=int(name))
        case "persona":
            opponent = AiSeat(persona=name)  # type: ignore[arg-type]  # it is one of PERSONAS
        case "strategy":
            opponent = AiSeat(strategy=name)
    side = second if chosen["You play"] == "random" else int(chosen["You play"])
    seats: tuple[SeatWish, SeatWish] = (MySeat(), opponent) if side == 0 else (opponent, MySeat())
    if kind == "screen":
        seats = MySeat(ON_ONE_SCREEN[0]), MySeat(ON_ONE_SCREEN[1])
    clock = parse_people(chosen["Clock"])
    thinking = next(value for value, _ in THINKING if value == chosen["Thinking"])
    # A friend's seat is for whom the link is sent to.
    is_listed = chosen["In the list"] == "yes" and kind != "friend"
    return Create(
        id=command_id,
        game=game.id,
        options={
            name.removeprefix("option "): value
            for name, value in chosen.items()
            if name.startswith("option ")
        },
        visibility="public" if is_listed else "unlisted",
        seats=seats,
        start=start.strip() or None,
        one_screen=kind == "screen",
        thinking=thinking,
        clock=None if clock is None else format_control(clock),
    )


class Fields(Widget, can_focus=True):
    """Draws the fields; up and down choose one, left and right change its value."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(-1)", show=False),
        Binding("down", "go(1)", show=False),
        Binding("left", "step(-1)", show=False),
        Binding("right,space", "step(1)", show=False),
    ]

    def __init__(self, games: Sequence[GameInfo], strategies: Sequence[str], first: str) -> None:
        super().__init__(id="fields")
        self._games = games
        self._strategies = strategies
        ids = [game.id for game in games]
        at = ids.index(first) if first in ids else 0
        self._game = Field("Game", ids, [game.title for game in games], at)
        self.below = fields_of(games[at], strategies)
        self.at = 0
        self._listed: dict[str, str] = {}
        #: The values that the user has chosen, which another game may not have.
        self._wished: dict[str, str] = {}
        #: The first field that is shown, where there is no space for all.
        self._first = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for each field."""
        return len(self._all)

    @property
    def game(self) -> GameInfo:
        """The chosen game."""
        return self._games[self._game.index]

    @property
    def _all(self) -> list[Field]:
        return [self._game, *self.below]

    def render(self) -> Text:
        """The fields as lines."""
        lines = []
        for number, field in enumerate(self._all):
            is_here = number == self.at
            before, after = ("<", ">") if is_here else (" ", " ")
            gap = " " * (field.sign_column - visible_width(field.title))
            line = Text(f"{field.title}{gap}{before} {field.texts[field.index]} {after}")
            if is_here and self.has_focus:
                line.stylize("reverse")
                line.append(f"  {field.index + 1} of {len(field.values)}", style="dim")
            lines.append(line)
        height = self.size.height or len(lines)
        first = max(0, min(self.at - height // 2, len(lines) - height))
        self._first = first
        return Text("\n").join(lines[first : first + height])

    def action_go(self, steps: int) -> None:
        """Chooses another field; below the last one is the position."""
        if self.at + steps >= len(self._all):
            self.screen.focus_next()
        self.at = max(0, min(len(self._all) - 1, self.at + steps))
        self.refresh(layout=True)

    def action_step(self, steps: int) -> None:
        """Changes the value of the field."""
        if self.at > 0:
            before = {field.name: field.value for field in self.below}
            step_field(self.below, self.at - 1, steps, self._listed)
            now = {field.name: field.value for field in self.below}
            self._wished |= {name: now[name] for name in now if now[name] != before[name]}
        else:
            self._game.step(steps)
            self.below = fields_after(self._wished, self.game, self._strategies)
        self.refresh(layout=True)

    def on_click(self, event: Click) -> None:
        """Chooses the field that was clicked. If it was chosen before, a click on the sign before
        its value chooses the value before, any other one the next.
        """
        clicked = event.y + self._first
        if clicked < len(self._all):
            if self.at == clicked:
                self.action_step(-1 if event.x == self._all[clicked].sign_column else 1)
            self.at = clicked
            self.refresh()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Chooses the next value of the field under the mouse."""
        self._turn(event, 1)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Chooses the value before."""
        self._turn(event, -1)

    def _turn(self, event: MouseScrollDown | MouseScrollUp, steps: int) -> None:
        event.stop()
        turned = event.y + self._first
        if turned < len(self._all):
            self.at = turned
            self.action_step(steps)


class NewRoom(ModalScreen[Create | None]):
    """Asks for a new room; returns the command that creates it."""

    DEFAULT_CSS = (
        "NewRoom { align: center middle; background: transparent; }"
        + SHEET_CSS
        + " #fields { height: auto; width: 100%; text-wrap: nowrap;"
        + " text-overflow: ellipsis; }"
        + " #start { border: none; height: 1; padding: 0; background: ansi_default; width: 1fr; }"
        + " #problem { text-style: bold; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "create", show=False, priority=True),
        Binding("escape,ctrl+c", "drop", show=False, priority=True),
    ]

    def __init__(
        self, games: Sequence[GameInfo], strategies: Sequence[str], first: str, command_id: str
    ) -> None:
        super().__init__()
        self._fields = Fields(games, strategies, first)
        self._command_id = command_id

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Static(Text("A new room", style="bold"))
            yield self._fields
            yield Input(id="start", placeholder=PLACEHOLDER)
            yield Static(id="problem", markup=False)
            yield Static(keys_line(*HINT), classes="hint")

    def on_mount(self) -> None:
        """Begins with the fields."""
        self._fields.focus()

    def on_resize(self) -> None:
        """Leaves space for the other lines of the sheet."""
        self._fields.styles.max_height = max(3, self.size.height * 9 // 10 - SHEET_ROWS)

    def action_create(self) -> None:
        """Returns the command."""
        start = self.query_one("#start", Input).value
        try:
            command = create_command(
                self._command_id,
                self._fields.game,
                self._fields.below,
                start,
                secrets.randbelow(2),
            )
        except TimeControlError as error:
            self.query_one("#problem", Static).update(Text(str(error)))
            return
        self.dismiss(command)

    def action_drop(self) -> None:
        """Creates nothing."""
        self.dismiss(None)
