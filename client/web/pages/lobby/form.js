/**
 * The form that creates a room: the game, the opponent, the side.
 *
 * @import {GameDescription, GameOption} from "../../shell/api.js"
 * @import {Create} from "../../shell/protocol.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { drawBoard } from "../../board/drawing.js";
import { layOut } from "../../board/geometry.js";
import { h } from "../../shell/elements.js";
import { drawRules } from "../../ui/rules.js";
import { PERSONAS, aiFields, sideName } from "../../shell/words.js";

/**
 * @typedef {object} Choices
 * @property {string} game
 * @property {string} search the text to find in the names of the games
 * @property {Record<string, string>} options
 * @property {"friend" | "ai" | "duel"} opponent
 * @property {string} level of the AI: a number, or the id of a persona
 * @property {string} secondLevel of the second AI, when two play
 * @property {"0" | "1" | "random"} side
 * @property {"public" | "unlisted"} visibility
 */

/**
 * The form's initial choices for a game: those that the user made for another game, except that the
 * options are this game's defaults and the levels are not above its highest.
 * @param {GameDescription} game
 * @param {Choices} [before]
 * @returns {Choices}
 */
export function initialChoices(game, before) {
    const defaultLevel = Math.ceil(game.levels / 2);
    const allowedLevel = (/** @type {string | undefined} */ level) =>
        level && level in PERSONAS ? level : String(Math.min(Number(level ?? defaultLevel), game.levels));
    return {
        game: game.id,
        search: before?.search ?? "",
        options: Object.fromEntries(Object.entries(game.options).map(([name, option]) => [name, option.default])),
        opponent: before?.opponent ?? "ai",
        level: allowedLevel(before?.level),
        secondLevel: allowedLevel(before?.secondLevel),
        side: before?.side ?? "0",
        visibility: before?.visibility ?? "public",
    };
}

/**
 * The seats of the new room. If the side is random, `chance`, a number from 0 to 1, chooses it.
 * @param {Choices} choices
 * @param {number} chance
 * @returns {NonNullable<Create["seats"]>}
 */
export function seatsFor({ opponent, level, secondLevel, side }, chance) {
    if (opponent === "duel") return [aiSeat(level), aiSeat(secondLevel)];
    const otherSeat = opponent === "ai" ? aiSeat(level) : /** @type {const} */ ({ who: "open" });
    const isFirst = side === "random" ? chance < 0.5 : side === "0";
    return isFirst ? [{ who: "me" }, otherSeat] : [otherSeat, { who: "me" }];
}

/**
 * @param {string} level
 * @returns {NonNullable<Create["seats"]>[number]}
 */
function aiSeat(level) {
    return { who: "ai", ...aiFields(level) };
}

/**
 * @param {GameDescription[]} games
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 * @param {() => void} create
 * @param {boolean} busy
 * @returns {VNode}
 */
export function drawForm(games, choices, change, create, busy) {
    const game = games.find(({ id }) => id === choices.game) ?? games[0];
    const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        create();
    };
    return h(
        "form",
        { class: "card create", "aria-label": "New room", onsubmit: submit, key: "form" },
        drawGames(games, choices, change),
        Object.entries(game.options).map(([name, option]) => drawOption(name, option, choices, change)),
        drawChoice(
            "opponent",
            "Against",
            { friend: "A friend", ai: "The AI", duel: "AI against AI" },
            choices.opponent,
            (opponent) => change({ opponent: /** @type {Choices["opponent"]} */ (opponent) }),
        ),
        choices.opponent === "friend" ? null : drawLevels(game, choices, change),
        choices.opponent === "duel" ? null : drawSides(game, choices, change),
        drawChoice(
            "visibility",
            "The room is",
            { public: "Public", unlisted: "Unlisted" },
            choices.visibility,
            (visibility) => change({ visibility: /** @type {Choices["visibility"]} */ (visibility) }),
        ),
        h("button", { class: "main large", disabled: busy }, "Create the room"),
        h(
            "details",
            { key: `rules ${game.id}` },
            h("summary", null, `Rules of ${game.title}`),
            drawRules(game.rules),
        ),
    );
}

/** The form has a search field for this many games or more. */
const MIN_GAMES_TO_SEARCH = 5;

/**
 * @param {GameDescription[]} games
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawGames(games, choices, change) {
    const text = choices.search.trim().toLowerCase();
    const matching = games.filter(({ id, title }) => `${title} ${id}`.toLowerCase().includes(text));
    const onSearch = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && change({ search: event.currentTarget.value });
    // Enter in this field chooses the first matching game instead of submitting the form.
    const chooseOnEnter = (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        if (matching.length > 0) change(initialChoices(matching[0], choices));
    };
    const field = {
        key: "find",
        type: "search",
        class: "find-game",
        placeholder: "Find a game",
        "aria-label": "Find a game",
        ".value": choices.search,
        oninput: onSearch,
        onkeydown: chooseOnEnter,
    };
    const cards = matching.map((game) => {
        const pick = () => change(initialChoices(game, choices));
        const input = {
            type: "radio",
            name: "game",
            value: game.id,
            ".checked": game.id === choices.game,
            onchange: pick,
        };
        return h(
            "label",
            { class: "game-card", key: game.id },
            h("input", input),
            drawThumbnail(game),
            h("span", null, game.title),
        );
    });
    return h(
        "fieldset",
        { class: "games" },
        h("legend", null, "Game"),
        games.length >= MIN_GAMES_TO_SEARCH ? h("input", field) : null,
        matching.length > 0 ? cards : h("p", { class: "muted empty" }, "No game has this name."),
    );
}

/** A cache of the thumbnails, which never change. @type {WeakMap<GameDescription, VNode>} */
const thumbnails = new WeakMap();

/**
 * A small picture of the start position.
 * @param {GameDescription} game
 * @returns {VNode}
 */
export function drawThumbnail(game) {
    const thumbnail = thumbnails.get(game) ?? makeThumbnail(game);
    thumbnails.set(game, thumbnail);
    return thumbnail;
}

/**
 * @param {GameDescription} game
 * @returns {VNode}
 */
function makeThumbnail(game) {
    const scene = {
        board: game.view,
        position: game.start ?? null,
        moves: [],
        pending: null,
        flip: false,
        label: game.title,
    };
    const layout = layOut(game.view.board, false);
    const state = { selection: [], current: null, focus: null, next: new Set(), hovered: null, preview: null };
    return h(
        "span",
        { class: "thumbnail", "aria-hidden": "true" },
        drawBoard(scene, { ...layout, labels: [], box: layout.frame }, state),
    );
}

/**
 * A choice between a few values, as rows of segments.
 * @param {string} name
 * @param {string} legend
 * @param {Record<string, Content> | Record<string, Content>[]} labels by value: one row, or several
 * @param {string} value
 * @param {(value: string) => void} pick
 * @param {string} [about] a text about the chosen value
 */
function drawChoice(name, legend, labels, value, pick, about) {
    const rows = (Array.isArray(labels) ? labels : [labels]).map((row) =>
        h(
            "div",
            { class: "segments" },
            Object.entries(row).map(([key, label]) =>
                h(
                    "label",
                    { key, class: "segment" },
                    h("input", {
                        type: "radio",
                        name,
                        value: key,
                        ".checked": key === value,
                        onchange: () => pick(key),
                    }),
                    h("span", null, label),
                ),
            ),
        ),
    );
    return h(
        "fieldset",
        { class: "choice", key: name },
        h("legend", null, legend),
        rows,
        about ? h("p", { class: "about" }, about) : null,
    );
}

/**
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawLevels(game, choices, change) {
    const legend = choices.opponent === "duel" ? `Level of ${sideName(game.view, 0)}` : "Level";
    return [
        drawLevel("level", legend, game.levels, choices.level, (level) => change({ level })),
        choices.opponent === "duel"
            ? drawLevel(
                  "second-level",
                  `Level of ${sideName(game.view, 1)}`,
                  game.levels,
                  choices.secondLevel,
                  (secondLevel) => change({ secondLevel }),
              )
            : null,
    ];
}

/**
 * A choice of a level or, in a second row, of a persona.
 * @param {string} name
 * @param {string} legend
 * @param {number} count
 * @param {string} value
 * @param {(value: string) => void} pick
 */
function drawLevel(name, legend, count, value, pick) {
    const levels = Object.fromEntries(Array.from({ length: count }, (_, i) => [String(i + 1), String(i + 1)]));
    const personas = Object.fromEntries(Object.entries(PERSONAS).map(([key, { name }]) => [key, name]));
    const about = PERSONAS[value]?.about;
    return drawChoice(name, legend, [levels, personas], value, pick, about);
}

/**
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawSides(game, choices, change) {
    const swatch = (/** @type {number} */ seat) => [
        h("i", { class: "swatch", "--colour": game.view.seats[seat]?.colour ?? "" }),
        sideName(game.view, seat),
        h("small", null, seat === 0 ? " begins" : ""),
    ];
    return drawChoice("side", "You play", { 0: swatch(0), 1: swatch(1), random: "Either" }, choices.side, (side) =>
        change({ side: /** @type {Choices["side"]} */ (side) }),
    );
}

/**
 * @param {string} name
 * @param {GameOption} option
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawOption(name, option, choices, change) {
    const value = choices.options[name] ?? option.default;
    const pick = (/** @type {string} */ text) => change({ options: { ...choices.options, [name]: text } });
    const offered = Object.fromEntries(option.offered.map((text) => [text, text]));
    if (!option.free) return drawChoice(`option-${name}`, option.title, offered, value, pick);
    const isOther = !option.offered.includes(value);
    const onInput = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && pick(event.currentTarget.value.trim());
    const field = isOther
        ? h("input", {
              key: `other-${name}`,
              class: "other-value",
              ".value": value,
              "aria-label": option.title,
              autofocus: true,
              oninput: onInput,
          })
        : null;
    return [drawChoice(`option-${name}`, option.title, { ...offered, "": "Other…" }, isOther ? "" : value, pick), field];
}
