"""States for screenshots of what helps a player: hints, coach, bot, analysis, replays."""

from playwright.async_api import TimeoutError, expect

from tests.system.studio import State, Studio, play_two, show_room_with_ai

#: How long a move may take until it is listed, in ms; an illegal one never is.
LISTED_MS = 2000


async def ask(studio: Studio, text: str, answer: str) -> None:
    """Writes a line to the bot and waits for a text in the chat."""
    await studio.ada.chat(text)
    await studio.ada.page.locator(".chat .lines p", has_text=answer).last.wait_for()


async def move(studio: Studio, *paths: str) -> None:
    """Plays the first of these moves that is legal."""
    await studio.ada.wait_for_turn()
    before = await studio.ada.page.locator(".moves .move").count()
    for path in paths:
        for cell in path.split():
            await studio.ada.cell(cell).click()
        try:
            listed = studio.ada.page.locator(".moves .move").nth(before)
            await listed.wait_for(state="attached", timeout=LISTED_MS)
        except TimeoutError:
            await studio.ada.page.keyboard.press("Escape")
        else:
            return


async def show_hints(studio: Studio) -> None:
    """The three best moves, in words and with arrows."""
    await show_room_with_ai(studio)
    await studio.ada.wait_for_turn()
    for label in ("Hint", "Show the move", "Show the best moves"):
        await studio.ada.button(label).click()
    await expect(studio.ada.page.locator(".hint")).to_contain_text("The best moves")


async def show_coach(studio: Studio) -> None:
    """The coach's comment on a move that gives the queen away."""
    await studio.ada.create("Chess", "The AI", level=3, side="White")
    await studio.ada.wait_for_turn()
    await ask(studio, "/coach on", "The coach watches")
    await move(studio, "e2 e4")
    await move(studio, "d1 h5")
    await move(studio, "h5 f7", "h5 g6", "a2 a3")
    await studio.ada.page.locator(".chat .answer", has_text="Coach: ").last.wait_for()
    await studio.ada.wait_for_turn()


async def show_bot(studio: Studio) -> None:
    """Answers of the bot, for everyone and for the asker alone."""
    await show_room_with_ai(studio)
    await studio.ada.wait_for_turn()
    await studio.ada.chat("why did you play that?")
    await studio.ada.page.locator(".chat .said").nth(1).wait_for()
    await ask(studio, "/eval", "%")
    await ask(studio, "/teach", "glass box")


async def show_commands_listed(studio: Studio) -> None:
    """The answer to /help."""
    await show_room_with_ai(studio)
    await ask(studio, "/help", "/rules")


async def show_commands_typed(studio: Studio) -> None:
    """The list of commands while one is typed."""
    await show_room_with_ai(studio)
    await studio.ada.open_tab("Chat")
    await studio.ada.page.get_by_label("Say something").focus()
    await studio.ada.page.keyboard.type("/t")
    await studio.ada.page.get_by_role("option").first.wait_for()


async def show_help_choice(studio: Studio) -> None:
    """The sheet of a game for two people, with the choice of the bot's help."""
    await studio.ada.go("/")
    await studio.ada.pick("Game", "Othello")
    await studio.ada.pick("Against", "A friend")
    await studio.ada.pick("During the match, the bot helps with positions", "Both players")


async def show_help_setting(studio: Studio) -> None:
    """The host's setting of the bot's help, after a match of two people."""
    await play_two(studio, "Connect four", "d1", "d2", "c1")
    await studio.bob.button("Resign").click()
    await studio.bob.button("Resign now").click()
    await studio.ada.open_tab("Chat")
    await studio.ada.page.get_by_label("The bot may help").wait_for()


async def resign(studio: Studio) -> None:
    await studio.ada.open_tab("Moves")
    await studio.ada.button("Resign").click()
    await studio.ada.button("Resign now").click()
    await studio.ada.page.locator(".state.over").wait_for()


async def show_analysis(studio: Studio) -> None:
    """A replay with its graph and its analysis, at the end of the match."""
    await show_coach(studio)
    await resign(studio)
    await studio.ada.page.get_by_role("link", name="Analyse", exact=True).click()
    await studio.ada.page.locator(".summary").wait_for()


async def show_mistake(studio: Studio) -> None:
    """The worst mistake, with its verdict, and the list of moves with marks."""
    await show_analysis(studio)
    await studio.ada.open_tab("Moves")
    await studio.ada.page.keyboard.press("p")
    await studio.ada.page.locator(".verdict .sign").wait_for()


async def show_better_line(studio: Studio) -> None:
    """The better line on the board."""
    await show_mistake(studio)
    await studio.ada.page.keyboard.press("b")
    await studio.ada.page.locator(".line-moves .move").first.wait_for()


async def show_play_on(studio: Studio) -> None:
    """The question before a match from a position of another one."""
    await show_mistake(studio)
    await studio.ada.button("Play it differently").click()
    await studio.ada.page.locator("dialog .play-on-choices").wait_for()


async def show_match_on_paper(studio: Studio) -> None:
    await show_analysis(studio)
    await studio.ada.page.emulate_media(media="print")


async def show_filtered_replays(studio: Studio) -> None:
    """The list of matches with filters."""
    await show_room_with_ai(studio)
    await studio.ada.wait_for_turn()
    await resign(studio)
    await studio.ada.go("/replays")
    await studio.ada.page.locator(".matches li").first.wait_for()
    folded = studio.ada.page.get_by_text("Filter", exact=True)
    if await folded.is_visible():
        await folded.click()
    await studio.ada.page.get_by_role("combobox", name="Player", exact=True).select_option("Me")
    await studio.ada.page.get_by_role("combobox", name="Result", exact=True).select_option("Lost")
    await studio.ada.page.locator(".matches li").first.wait_for()


#: The states by the name of their files.
COMPANION_STATES: dict[str, State] = {
    "help-hints": show_hints,
    "help-coach": show_coach,
    "help-bot": show_bot,
    "help-commands": show_commands_listed,
    "help-typing": show_commands_typed,
    "help-choice": show_help_choice,
    "help-setting": show_help_setting,
    "learn-analysis": show_analysis,
    "learn-mistake": show_mistake,
    "learn-line": show_better_line,
    "learn-play-on": show_play_on,
    "learn-paper": show_match_on_paper,
    "learn-filters": show_filtered_replays,
}
