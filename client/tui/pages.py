"""What the screens that fill the terminal share: a banner, keys, the list of keys, the way out."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from client.terminal.wrapping import visible_width
from client.tui.sheets import Menu, MenuEntry


class Shortcut(NamedTuple):
    """Keys that do the same: their names in Textual, the label and the text of the list of keys,
    and the action; "" where choosing it in the list does nothing.
    """

    keys: str
    label: str
    text: str
    action: str


#: The keys that every list of keys ends with.
HELP = Shortcut("question_mark,f1", "?", "this list", "help")
LEAVE = Shortcut("q,ctrl+c", "q", "leaves", "leave")


def bindings(keys: Sequence[Shortcut]) -> list[BindingType]:
    """The bindings of keys; those without names in Textual are bound elsewhere."""
    return [Binding(key.keys, key.action, show=False) for key in (*keys, HELP, LEAVE) if key.keys]


class TextPane(Static):
    """A text as wide as its place. It is drawn only when it changes, and the screen is laid out
    anew only where the text may take other rows than before.
    """

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(Text(), id=id, classes=classes, markup=False)

    def show(self, text: Text, *, layout: bool = True) -> None:
        """Shows a text in place of the one before. Without `layout` it has a fixed height."""
        before = self.content
        assert isinstance(before, Text), "a text from the beginning"
        if text == before and text.style == before.style and text.no_wrap == before.no_wrap:
            return
        self.update(text, layout=layout and not (self._is_row(before) and self._is_row(text)))

    def _is_row(self, text: Text) -> bool:
        """Whether a text takes one row."""
        plain = text.plain
        return bool(plain) and "\n" not in plain and visible_width(plain) <= self.size.width


class Page(Screen[None]):
    """A screen that fills the terminal, with a title, a banner and a line of keys."""

    DEFAULT_CSS = """
    Page { layout: vertical; background: ansi_default; color: ansi_default; }
    Page Static { height: auto; width: 100%; }
    Page > #title { text-style: bold; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    Page > #banner { height: 1; text-style: reverse bold; display: none; }
    Page > #keys { height: 1; text-style: dim; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def compose_head(self) -> ComposeResult:
        """The first two lines: a title, and the banner."""
        yield TextPane(id="title")
        yield TextPane(id="banner")

    def show_banner(self, text: str) -> None:
        """Shows a sentence above everything, such as that the connection is lost; "" hides it."""
        if self.is_mounted:
            banner = self.query_one("#banner", TextPane)
            banner.show(Text(text))
            banner.display = bool(text)

    def action_leave(self) -> None:
        """Leaves the screen."""
        self.dismiss(None)


class KeyPage(Page):
    """A page all of whose keys do something: `KEYS` are listed on request below `HEADING`."""

    HEADING: ClassVar[str] = ""
    KEYS: ClassVar[Sequence[Shortcut]] = ()

    def action_help(self) -> None:
        """Lists the keys."""
        entries = [MenuEntry(key.label, key.text, key.action) for key in (*self.KEYS, HELP, LEAVE)]
        self.app.push_screen(Menu(self.HEADING, entries), self._chosen)

    async def _chosen(self, action: str | None) -> None:
        """Does what was chosen in the list of keys."""
        if action and action != HELP.action:
            await self.run_action(action)
