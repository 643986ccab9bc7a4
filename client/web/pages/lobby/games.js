/**
 * The games of the lobby: the latest choices with one click, and all games as pictures with their goals.
 *
 * @import {App} from "../../shell/app.js"
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 */

import { drawPicture } from "../../board/pictures/picture.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { VERBS, describeChoices } from "./choices.js";

/** The page has a search field for this many games or more. */
const MIN_GAMES_TO_SEARCH = 5;

/**
 * @typedef {object} Handlers
 * @property {App["offline"]} offline the attributes of what needs the server
 * @property {(game: GameDescription) => void} pick starts a game, or opens its sheet
 * @property {((game: GameDescription) => void) | null} choose opens the sheet of a game; null where a
 *     click on the game does so
 * @property {(text: string) => void} search
 */

/**
 * The games, those for lessons in a group of their own.
 * @param {GameDescription[]} games
 * @param {string} heading
 * @param {string} searched the text to find in the names of the games
 * @param {Handlers} handlers
 * @param {Content} [clock] the choice of the time control
 * @returns {VNode}
 */
export function drawGames(games, heading, searched, handlers, clock = null) {
    const text = searched.trim().toLowerCase();
    const matching = games.filter(({ id, title, aliases }) =>
        [title, id, ...(aliases ?? [])].join(" ").toLowerCase().includes(text),
    );
    const draw = (/** @type {GameDescription} */ game) => drawGame(game, handlers);
    const lessons = matching.filter(isForLessons);
    return h(
        "section",
        { class: "create", "aria-label": "New match", key: "games" },
        h(
            "div",
            { class: "games-head" },
            h("h2", { id: "games-heading" }, heading),
            clock && h("div", { class: "games-clock", key: "clock" }, clock),
            games.length >= MIN_GAMES_TO_SEARCH ? drawSearch(searched, matching, handlers) : null,
        ),
        h(
            "ul",
            { class: "games", "aria-label": "Game" },
            matching.length > 0 ? matching.filter((game) => !isForLessons(game)).map(draw) : h("li", { class: "muted empty" }, "No game has this name."),
        ),
        lessons.length > 0
            ? [
                  h(
                      "p",
                      { class: "muted for-lessons", key: "for lessons" },
                      h("b", null, "For lessons on game search"),
                      " Tiny games with little to play: they show how a search thinks.",
                  ),
                  h("ul", { class: "games", "aria-label": "Games for lessons", key: "lessons" }, lessons.map(draw)),
              ]
            : null,
    );
}

/**
 * Whether the game is there for lessons on game search, not for an evening.
 * @param {GameDescription} game
 */
function isForLessons({ search }) {
    return search === "teach";
}

/**
 * @param {GameDescription} game
 * @param {Handlers} handlers
 */
function drawGame(game, { offline, pick, choose }) {
    const label = `Choices for ${game.title}`;
    return h(
        "li",
        { class: "game-card", key: game.id },
        drawPicture(game),
        h(
            "span",
            { class: "words" },
            h(
                "button",
                { class: "name", "aria-haspopup": choose ? null : "dialog", "aria-describedby": `goal-${game.id}`, onclick: () => pick(game), ...offline },
                game.title,
            ),
            h("span", { class: "muted goal", id: `goal-${game.id}` }, game.goal ?? ""),
        ),
        choose
            ? h(
                  "button",
                  { key: "choose", class: "icon-button small", "aria-label": label, title: label, "aria-haspopup": "dialog", onclick: () => choose(game), ...offline },
                  icon("gear"),
              )
            : null,
    );
}

/**
 * The latest choices, each a button that creates the room; null for a first visitor.
 * @param {GameDescription[]} games
 * @param {Choices[]} offered
 * @param {boolean} isFirst whether nothing of the user's own comes before them
 * @param {Record<string, unknown>} attributes of the buttons
 * @param {(choices: Choices) => void} play creates the room at once
 * @returns {Content}
 */
export function drawOffered(games, offered, isFirst, attributes, play) {
    const buttons = offered.flatMap((choices, i) => {
        const game = games.find(({ id }) => id === choices.game);
        if (!game) return [];
        return h(
            "button",
            { class: isFirst && i === 0 ? "main offered" : "offered", ...attributes, key: `offered ${i}`, onclick: () => play(choices) },
            h("span", { class: "what" }, `Again: ${describeChoices(game, choices)}`, h("span", { class: "visually-hidden" }, ": ")),
            h("b", null, VERBS[choices.opponent]),
        );
    });
    return buttons.length > 0 ? h("div", { class: "all-offered", role: "group", "aria-label": "Again", key: "again" }, buttons) : null;
}

/**
 * @param {string} searched
 * @param {GameDescription[]} matching
 * @param {Handlers} handlers
 */
function drawSearch(searched, matching, handlers) {
    const onInput = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && handlers.search(event.currentTarget.value);
    // Enter picks the first matching game.
    const pickOnEnter = (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (matching.length > 0) handlers.pick(matching[0]);
    };
    return h("input", {
        key: "find",
        type: "search",
        class: "find-game",
        placeholder: "Find a game",
        "aria-label": "Find a game",
        ".value": searched,
        oninput: onInput,
        onkeydown: pickOnEnter,
    });
}
