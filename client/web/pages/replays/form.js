/**
 * The form that filters the list of matches.
 *
 * @import {GameDescription, MatchSummary} from "../../shell/api.js"
 * @import {Filter} from "./filter.js"
 */

import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { PERSONAS, sideName } from "../../shell/words.js";
import { SPEEDS } from "../../ui/clock/clock.js";
import { LENGTHS, NO_FILTER, leavesOutMatches, lengthOf, lengthText } from "./filter.js";

/** The number of levels that most games have. */
const LEVELS = 8;

/**
 * @param {Filter} filter
 * @param {{games: GameDescription[], people: Record<string, string>, you: string | undefined, change: (changes: Partial<Filter>) => void}} context
 *     `people` has the names of the people to choose from, by identity
 */
export function drawForm(filter, { games, people, you, change }) {
    const game = games.find(({ id }) => id === filter.game);
    const gameTitles = Object.fromEntries(games.map(({ id, title }) => [id, title]));
    if (filter.game && !game) gameTitles[filter.game] = filter.game;
    const lengths = Object.fromEntries(Object.entries(LENGTHS).map(([length, { title }]) => [length, title]));
    const length = lengthOf(filter);
    const pickLength = (/** @type {string} */ key) => {
        const { min_plies = "", max_plies = "" } = LENGTHS[key] ?? {};
        change({ min_plies, max_plies });
    };
    return h(
        "div",
        { class: "filter", role: "search", "aria-label": "Filter the list" },
        drawChoice("Game", { "": "All games", ...gameTitles }, filter.game, (id) => change({ game: id })),
        drawChoice("Player", playersOf(filter, people, game, you), filter.player, (player) => change({ player })),
        drawChoice("Result", resultsOf(filter, game), filter.result, (result) => change({ result })),
        drawChoice("Clock", { ...SPEEDS, "": "Any clock" }, filter.speed, (speed) => change({ speed })),
        drawChoice("Length", length === "" ? { "": lengthText(filter), ...lengths } : lengths, length, pickLength),
        h("div", { class: "days" }, drawDay("From", filter.since, (since) => change({ since })), drawDay("To", filter.until, (until) => change({ until }))),
        leavesOutMatches(filter) ? h("button", { key: "clear", onclick: () => change(NO_FILTER) }, "Show all") : null,
    );
}

/**
 * The players to choose from: everyone, you, the people of the list by name, the AI at each level, and
 * the one in the address.
 * @param {Filter} filter
 * @param {Record<string, string>} people
 * @param {GameDescription | undefined} game
 * @param {string | undefined} you
 * @returns {Record<string, string>}
 */
function playersOf({ player }, people, game, you) {
    const levels = Array.from({ length: game ? game.levels : LEVELS }, (_, i) => [`ai:${i + 1}`, `AI level ${i + 1}`]);
    const personas = Object.entries(PERSONAS).map(([persona, { name }]) => [`ai:${persona}`, `AI ${name}`]);
    const known = Object.fromEntries([...levels, ...personas]);
    const others = Object.entries(people)
        .filter(([identity]) => identity !== you)
        .sort(([, a], [, b]) => a.localeCompare(b));
    const isOther = player !== "" && player !== you && !Object.hasOwn(known, player) && !Object.hasOwn(people, player);
    return {
        "": "All players",
        ...(you === undefined ? null : { [you]: "Me" }),
        ...(isOther ? { [player]: "Another player" } : null),
        ...Object.fromEntries(others),
        ...known,
    };
}

/**
 * The people who played these matches: their names by identity, those of the latest matches.
 * @param {MatchSummary[]} matches the latest first
 * @returns {Record<string, string>}
 */
export function peopleOf(matches) {
    const people = matches.flatMap(({ seats }) => seats).filter(({ kind }) => kind !== "ai");
    return Object.fromEntries(people.reverse().map(({ identity, name }) => [identity, isolated(name)]));
}

/**
 * @param {Filter} filter
 * @param {GameDescription | undefined} game
 * @returns {Record<string, string>}
 */
function resultsOf({ player }, game) {
    const every = { "": "Any result" };
    if (player !== "") return { ...every, won: "Won", lost: "Lost", drawn: "Drawn" };
    const [first, second] = [0, 1].map((seat) => (game ? sideName(game.view, seat) : ["First side", "Second side"][seat]));
    return { ...every, first: `${first} won`, second: `${second} won`, drawn: "Drawn" };
}

/**
 * @param {string} label
 * @param {Record<string, string>} titles by value
 * @param {string} value
 * @param {(value: string) => void} pick
 */
function drawChoice(label, titles, value, pick) {
    const onChange = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLSelectElement && pick(currentTarget.value);
    return h(
        "label",
        { key: label },
        h("span", null, label),
        h(
            "select",
            { ".value": value, onchange: onChange },
            Object.entries(titles).map(([key, title]) => h("option", { key: `o${key}`, value: key }, title)),
        ),
    );
}

/**
 * @param {string} label
 * @param {string} value
 * @param {(day: string) => void} pick
 */
function drawDay(label, value, pick) {
    const onChange = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLInputElement && pick(currentTarget.value);
    return h("label", { key: label }, h("span", null, label), h("input", { type: "date", ".value": value, onchange: onChange }));
}
