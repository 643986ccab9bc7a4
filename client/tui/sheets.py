"""The sheets over a screen: questions, choices, texts and the menu of what may be done."""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from client.terminal.words import quoted
from client.tui.picking import choice_keys
from engine.view import MoveView

SHEET_CSS = """
#sheet { width: 90%; min-width: 40; max-width: 76; height: auto; max-height: 90%;
         border: round ansi_blue; background: ansi_default; padding: 0 1; }
#sheet Static { width: 100%; height: auto; }
#sheet VerticalScroll { height: auto; max-height: 100%; }
#sheet OptionList, #sheet OptionList:focus { border: none; padding: 0; background: ansi_default;
  text-wrap: nowrap; text-overflow: ellipsis; }
#sheet .hint { color: ansi_default; text-style: dim; }
"""


def keys_line(*keys: tuple[str, str], between: str = "  ") -> Text:
    """A line of keys with what they do; each has the action of the screen that a click on it does,
    "" without one.
    """
    line = Text(no_wrap=True, overflow="ellipsis")
    for number, (label, action) in enumerate(keys):
        key = Text(label)
        if action:
            key.apply_meta({"@click": f"screen.{action}"})
        line.append(between if number else "").append_text(key)
    return line


def close_above(screen: Screen[None]) -> None:
    """Closes what is above a screen, each as if nothing was chosen there."""
    stack = screen.app.screen_stack
    for above in reversed(stack[stack.index(screen) + 1 :]):
        above.dismiss(None)


class Question(ModalScreen[bool]):
    """Asks a question that is answered by y or n. With `interrupt_means_yes` so it is by Ctrl-C,
    which has asked it.
    """

    DEFAULT_CSS = "Question { align: center middle; background: transparent; }" + SHEET_CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape", "answer(False)", "no"),
        Binding("ctrl+c", "interrupt", show=False),
    ]

    def __init__(self, question: str, interrupt_means_yes: bool = False) -> None:
        super().__init__()
        self._question = question
        self._interrupt_means_yes = interrupt_means_yes

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Static(Text(self._question), markup=False)
            yield Static(
                keys_line(("y yes", "answer(True)"), ("n no", "answer(False)"), between="    ")
            )

    def action_answer(self, is_yes: bool) -> None:
        """Closes the question."""
        self.dismiss(is_yes)

    def action_interrupt(self) -> None:
        """Closes the question by Ctrl-C."""
        self.dismiss(self._interrupt_means_yes)


class Choice(ModalScreen[int | None]):
    """Asks which of several things is meant: each has a key, a number or a letter."""

    DEFAULT_CSS = "Choice { align: center middle; background: transparent; }" + SHEET_CSS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "drop", "none")]

    def __init__(self, question: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._question = question
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Static(Text(self._question), markup=False)
            yield OptionList(*[Option(Text(f"{key}  {text}")) for key, text in self._choices])
            hint = keys_line(("Press a letter, or Enter", ""), ("Esc goes back", "drop"))
            yield Static(hint, classes="hint")

    def on_key(self, event: Key) -> None:
        """Chooses by a letter."""
        for index, (key, _) in enumerate(self._choices):
            if event.character == key:
                event.stop()
                self.dismiss(index)
                return

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chooses by Enter or the mouse."""
        self.dismiss(event.option_index)

    def action_drop(self) -> None:
        """Chooses nothing."""
        self.dismiss(None)


class MenuEntry(NamedTuple):
    """A line of a menu: its label, what it does, and the word that choosing it returns."""

    label: str
    text: str
    word: str


class Menu(ModalScreen[str | None]):
    """Lists what may be done now: keys above, then words. Choosing a word returns it."""

    DEFAULT_CSS = (
        "Menu { align: center middle; background: transparent; }"
        + SHEET_CSS
        + " Menu #sheet { height: 90%; } Menu OptionList { height: 1fr; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c,question_mark", "drop", "back")]

    def __init__(self, heading: str, entries: Sequence[MenuEntry]) -> None:
        super().__init__()
        self._heading = heading
        self._entries = entries

    def compose(self) -> ComposeResult:
        wide = max((len(entry.label) for entry in self._entries), default=0)
        options = [
            Option(Text(f"{entry.label:<{wide}}  {entry.text}", no_wrap=True, overflow="ellipsis"))
            for entry in self._entries
        ]
        with Vertical(id="sheet"):
            yield Static(Text(self._heading), markup=False)
            yield OptionList(*options)
            hint = keys_line(("Enter chooses", ""), ("Esc goes back", "drop"))
            yield Static(hint, classes="hint")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Returns the chosen word."""
        self.dismiss(self._entries[event.option_index].word)

    def action_drop(self) -> None:
        """Chooses nothing."""
        self.dismiss(None)


class TextSheet(ModalScreen[None]):
    """Shows lines of text, such as a link or a log."""

    DEFAULT_CSS = (
        "TextSheet { align: center middle; background: transparent; }"
        + SHEET_CSS
        + " TextSheet #sheet { width: 100%; max-width: 110; height: 100%; max-height: 100%;"
        + " border: none; padding: 0; } TextSheet #sheet VerticalScroll { height: 1fr; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,ctrl+c,c,space", "drop", "back")
    ]

    def __init__(
        self,
        heading: str,
        body: Text,
        hint: Sequence[tuple[str, str]] = (("Esc goes back", "drop"),),
    ) -> None:
        super().__init__()
        self._heading = heading
        self._body = body
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Static(Text(quoted(self._heading)), markup=False)
            with VerticalScroll():
                yield Static(self._body, markup=False)
            yield Static(keys_line(*self._hint), classes="hint")

    def action_drop(self) -> None:
        """Closes the sheet."""
        self.dismiss(None)


#: What a sheet says after its link was copied.
COPIED = "Copied, if the terminal allows it."


class LinkSheet(TextSheet):
    """Shows a link, and copies it where the terminal lets programs do so. Unless the screen
    `has_mouse`, the mouse is the terminal's, so that it can select the link: nothing here can be
    clicked.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy")]

    def __init__(self, heading: str, body: Text, link: str, has_mouse: bool) -> None:
        how = "Shift and the mouse select it" if has_mouse else "select it with the mouse"
        copy, drop = ("copy", "drop") if has_mouse else ("", "")
        hint = (("y copies it", copy), ("Esc goes back", drop))
        super().__init__(f"{heading} ({how}):", body, hint)
        self._link = link

    def action_copy(self) -> None:
        """Gives the link to the clipboard of the terminal, by its code OSC 52."""
        self.app.copy_to_clipboard(self._link)
        hint = keys_line((COPIED, ""), self._hint[1])
        self.query_one(".hint", Static).update(hint)


def ask_for_one(
    app: App[None], moves: Sequence[MoveView], play: Callable[[MoveView], None]
) -> None:
    """Plays the only one of these moves, or asks which one is meant."""
    if len(moves) == 1:
        play(moves[0])
        return
    keys = choice_keys(moves)
    chosen = [(key, move.choice or move.text) for key, move in keys.items()]
    app.push_screen(
        Choice("Which move?", chosen), lambda index: None if index is None else play(moves[index])
    )
