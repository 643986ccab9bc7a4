/**
 * The choices for a new match: their defaults, their text, and the latest ones, which the browser
 * keeps. Pure functions, except the one that reads the storage.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Create} from "../../shell/protocol.js"
 */

import { controlText } from "../../ui/clock/clock.js";
import { readKept } from "../../ui/matches/kept.js";
import { PERSONAS, STRATEGIES, aiFields, parseStrategy, sideName, strategyChoice } from "../../shell/words.js";

/**
 * @typedef {object} Choices
 * @property {string} game
 * @property {Record<string, string>} options
 * @property {"friend" | "ai" | "duel" | "screen"} opponent "screen" is one screen for two people
 * @property {string} level of the AI: a number, the id of a persona, or the choice of a strategy
 * @property {string} secondLevel of the second AI, when two play
 * @property {"0" | "1" | "random"} side
 * @property {"public" | "unlisted"} visibility of a room with an AI, as the user has chosen it
 * @property {boolean} [door] whether a door has made the choices: only people with its link find the
 *     room with an AI, whatever the visibility of other rooms
 * @property {"public" | "unlisted"} atHome the visibility of a room for one screen; by default nobody
 *     else sees it
 * @property {"public" | "unlisted"} invitation the visibility of a room for a friend; by default only
 *     people with its link find it
 * @property {"all" | "spectators" | "after"} [thinking] who may see the AI's thinking during a match;
 *     everyone by default
 * @property {boolean} [help] whether the bot may help both of two people with positions
 * @property {string} [clock] the text of the time control; a match without a clock has none
 * @property {[string, string]} [names] of the two people on one screen, empty where a side has none
 * @property {string | null} [start] the position from which the match starts, as text; it is not kept
 */

/** Maximum length of a person's name on one screen, in characters. */
export const MAX_NAME = 24;
/** The number of choices that the lobby offers again with one click. */
export const MAX_OFFERED = 3;

/**
 * Valid choices for a game: the earlier ones where they are possible, otherwise the defaults.
 * @param {GameDescription} game
 * @param {Partial<Choices>} [before]
 * @returns {Choices}
 */
export function validChoices(game, before = {}) {
    const options = Object.entries(game.options).map(([name, option]) => {
        const value = before.game === game.id ? before.options?.[name] : undefined;
        return [name, value !== undefined && (option.free || option.offered.includes(value)) ? value : option.default];
    });
    return {
        game: game.id,
        options: Object.fromEntries(options),
        opponent: oneOf(before.opponent, ["friend", "ai", "duel", "screen"], "ai"),
        level: validLevel(game, before.level),
        secondLevel: validLevel(game, before.secondLevel),
        side: oneOf(before.side, ["0", "1", "random"], "0"),
        visibility: oneOf(before.visibility, ["public", "unlisted"], "public"),
        atHome: oneOf(before.atHome, ["public", "unlisted"], "unlisted"),
        invitation: oneOf(before.invitation, ["public", "unlisted"], "unlisted"),
        ...(before.thinking === "spectators" || before.thinking === "after" ? { thinking: before.thinking } : null),
        ...(before.help === true ? { help: true } : null),
        ...(before.door === true ? { door: true } : null),
        ...(typeof before.clock === "string" ? { clock: before.clock } : null),
        ...(Array.isArray(before.names) && before.names.length === 2 ? { names: before.names } : null),
    };
}

/**
 * The level, or the lowest one for a first visitor.
 * @param {GameDescription} game
 * @param {string | undefined} level
 */
function validLevel(game, level = "1") {
    if (parseStrategy(level)) return level;
    // Strategies play a game without levels.
    if (game.levels === 0) return strategyChoice("alphabeta");
    if (Object.hasOwn(PERSONAS, level)) return level;
    const number = Math.round(Number(level));
    return String(Math.min(Math.max(1, Number.isNaN(number) ? 1 : number), game.levels));
}

/**
 * @template {string} T
 * @param {T | undefined} value
 * @param {readonly T[]} values
 * @param {T} fallback
 */
function oneOf(value, values, fallback) {
    return value !== undefined && values.includes(value) ? value : fallback;
}

/**
 * The command that creates a room. If the side is random, `chance`, a number from 0 to 1, chooses it.
 * @param {Choices} choices
 * @param {number} chance
 * @returns {Omit<Create, "id">}
 */
export function createCommand(choices, chance) {
    const { game, options } = choices;
    const visibility = visibilityOf(choices);
    const start = choices.start == null ? null : { start: choices.start };
    const hasAi = choices.opponent === "ai" || choices.opponent === "duel";
    const thinking = hasAi && choices.thinking ? { thinking: choices.thinking } : null;
    const help = choices.opponent === "friend" && choices.help ? { help: true } : null;
    const clock = choices.clock === undefined ? null : { clock: choices.clock };
    const room = /** @type {const} */ ({ t: "create", game, options, visibility, ...start, ...thinking, ...help, ...clock });
    if (choices.opponent === "screen") return { ...room, one_screen: true, seats: namedSeats(choices.names ?? ["", ""]) };
    return { ...room, seats: seatsFor(choices, chance) };
}

/**
 * Whether anyone finds the room, or only people with its link.
 * @param {Choices} choices
 */
export function visibilityOf({ opponent, visibility, atHome, invitation, door }) {
    return { friend: invitation, screen: atHome, ai: door ? "unlisted" : visibility, duel: visibility }[opponent];
}

/**
 * The seats of two people on one screen. Without a name they are numbered: both have one identity.
 * @param {[string, string]} names
 */
function namedSeats(names) {
    return names.map((name, seat) => ({ who: /** @type {const} */ ("me"), name: name.trim() || `Player ${seat + 1}` }));
}

/**
 * @param {Choices} choices
 * @param {number} chance
 * @returns {NonNullable<Create["seats"]>}
 */
function seatsFor({ opponent, level, secondLevel, side }, chance) {
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
 * The visibilities of a room that are not the usual one, in words.
 * @type {Record<Choices["opponent"], {public?: string, unlisted?: string}>}
 */
const WATCHED = {
    friend: { public: "open to anyone" },
    screen: { public: "anyone can watch" },
    ai: { unlisted: "only with the link" },
    duel: { unlisted: "only with the link" },
};

/**
 * The choices in words: "Chess, level 4, White".
 * @param {GameDescription} game
 * @param {Choices} choices
 */
export function describeChoices(game, choices) {
    const { options, opponent, level, secondLevel, side, help, clock } = choices;
    const changed = Object.entries(options).filter(([name, value]) => value !== game.options[name]?.default);
    const duelText = `${levelText(level)} against ${levelText(secondLevel)}`;
    const opponentText = { friend: "", screen: "", ai: levelText(level), duel: duelText };
    const titles = { friend: `${game.title} with a friend`, screen: `${game.title} on one screen` };
    const hasSide = opponent === "friend" || opponent === "ai";
    const sideText = side === "random" ? "either side" : sideName(game.view, Number(side));
    const parts = [
        opponent === "friend" || opponent === "screen" ? titles[opponent] : game.title,
        changed.map(([name, value]) => inSentence(phraseOf(game.options[name], value))).join(", "),
        opponentText[opponent],
        clock === undefined ? "" : controlText(clock),
        hasSide ? sideText : "",
        opponent === "friend" && help ? "with the bot's help" : "",
        WATCHED[opponent][visibilityOf(choices)] ?? "",
    ];
    return parts.filter(Boolean).join(", ");
}

/**
 * A value of an option in words.
 * @param {GameDescription["options"][string] | undefined} option
 * @param {string} value
 */
export function phraseOf(option, value) {
    return option?.phrases?.[value] ?? (option ? `${option.title}: ${value}` : value);
}

/**
 * A phrase inside a line: its first letter in lower case.
 * @param {string} phrase
 */
function inSentence(phrase) {
    return phrase.charAt(0).toLowerCase() + phrase.slice(1);
}

/** @param {string} level */
function levelText(level) {
    const choice = parseStrategy(level);
    if (!choice) return PERSONAS[level]?.name ?? `level ${level}`;
    return (STRATEGIES[choice.strategy] ?? choice.strategy) + (choice.depth === null ? "" : ` depth ${choice.depth}`);
}

/** The verb of the button that creates the room. @type {Record<Choices["opponent"], string>} */
export const VERBS = { friend: "Invite", ai: "Play", duel: "Watch", screen: "Play" };

/**
 * The latest valid choices that the browser keeps, the latest first.
 * @param {GameDescription[]} games
 * @returns {Choices[]}
 */
export function readChoices(games) {
    return /** @type {Partial<Choices>[]} */ (readKept()).flatMap((stored) => {
        const game = games.find(({ id }) => id === stored?.game);
        return game ? [validChoices(game, stored)] : [];
    });
}
