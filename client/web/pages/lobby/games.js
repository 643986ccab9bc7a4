/**
 * The games of the lobby: the latest choices with one click, and all games as pictures.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 */

import { drawPicture } from "../../board/picture.js";
import { h } from "../../shell/elements.js";
import { VERBS, describeChoices } from "./choices.js";

/** The page has a search field for this many games or more. */
const MIN_GAMES_TO_SEARCH = 5;

/**
 * @typedef {object} Handlers
 * @property {(choices: Choices) => void} play creates the room at once
 * @property {(game: GameDescription) => void} open opens the sheet of a game
 * @property {(text: string) => void} search
 */

/**
 * @param {GameDescription[]} games
 * @param {Choices[]} offered
 * @param {string} searched the text to find in the names of the games
 * @param {boolean} isBusy
 * @param {Content} between content between the latest choices and the games
 * @param {Handlers} handlers
 * @returns {VNode}
 */
export function drawGames(games, offered, searched, isBusy, between, handlers) {
    const text = searched.trim().toLowerCase();
    const matching = games.filter(({ id, title, aliases }) =>
        [title, id, ...(aliases ?? [])].join(" ").toLowerCase().includes(text),
    );
    const cards = matching.map((game) =>
        h(
            "button",
            { class: "game-card", key: game.id, "aria-haspopup": "dialog", onclick: () => handlers.open(game) },
            drawPicture(game),
            h("span", null, game.title),
        ),
    );
    return h(
        "section",
        { class: "card create", "aria-label": "New match", key: "games" },
        drawOffered(games, offered, isBusy, handlers.play),
        between,
        games.length >= MIN_GAMES_TO_SEARCH ? drawSearch(searched, matching, handlers) : null,
        h(
            "div",
            { class: "games", role: "group", "aria-label": "Game" },
            matching.length > 0 ? cards : h("p", { class: "muted empty" }, "No game has this name."),
        ),
    );
}

/**
 * The latest choices, each a button that creates the room.
 * @param {GameDescription[]} games
 * @param {Choices[]} offered
 * @param {boolean} isBusy
 * @param {Handlers["play"]} play
 */
function drawOffered(games, offered, isBusy, play) {
    const buttons = offered.flatMap((choices, i) => {
        const game = games.find(({ id }) => id === choices.game);
        if (!game) return [];
        const attributes = { class: i === 0 ? "main large offered" : "offered", disabled: isBusy };
        return h(
            "button",
            { ...attributes, key: `offered ${i}`, onclick: () => play(choices) },
            h("span", { class: "what" }, describeChoices(game, choices), ": "),
            h("b", null, VERBS[choices.opponent]),
        );
    });
    return h("div", { class: "all-offered" }, buttons);
}

/**
 * @param {string} searched
 * @param {GameDescription[]} matching
 * @param {Handlers} handlers
 */
function drawSearch(searched, matching, handlers) {
    const onInput = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && handlers.search(event.currentTarget.value);
    // Enter opens the first matching game.
    const openOnEnter = (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (matching.length > 0) handlers.open(matching[0]);
    };
    return h("input", {
        key: "find",
        type: "search",
        class: "find-game",
        placeholder: "Find a game",
        "aria-label": "Find a game",
        ".value": searched,
        oninput: onInput,
        onkeydown: openOnEnter,
    });
}
