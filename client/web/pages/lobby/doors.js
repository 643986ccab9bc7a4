/**
 * The doors of the first page: with whom the user plays. A game that is clicked then starts at once;
 * without an open door its sheet asks for everything.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 */

import { h } from "../../shell/elements.js";
import { MAX_NAME, validChoices } from "./choices.js";

/** @typedef {[string, string]} Names */
/** @typedef {"link" | "anyone" | "easy" | "medium" | "hard" | "more" | "screen"} Way */

/**
 * The doors: the title, what it means, the way that its title opens, and the ways inside it.
 * @type {{title: string, about: string, way: Way, ways: Partial<Record<Way, string>>}[]}
 */
const DOORS = [
    {
        title: "With a friend",
        about: "Send a link. Your friend plays in the browser.",
        way: "link",
        ways: { link: "By link", anyone: "Anyone may join" },
    },
    {
        title: "Against the computer",
        about: "Watch what it thinks while you play.",
        way: "easy",
        ways: { easy: "Easy", medium: "Medium", hard: "Hard", more: "More" },
    },
    {
        title: "Two on this screen",
        about: "Take turns at one computer or phone.",
        way: "screen",
        ways: {},
    },
];

/** What a click on a game does. @type {Record<Way, string>} */
const HEADINGS = {
    link: "With a friend, by link: choose a game",
    anyone: "Anyone may join: choose a game",
    easy: "Computer, Easy: choose a game",
    medium: "Computer, Medium: choose a game",
    hard: "Computer, Hard: choose a game",
    more: "Choose a game, then how the computer plays",
    screen: "Two on this screen: choose a game",
};

/**
 * The heading of the games.
 * @param {Way | null} way
 */
export function headingOf(way) {
    return way === null ? "Games" : HEADINGS[way];
}

/**
 * @param {Way | null} open the open door's way
 * @param {(way: Way | null) => void} pick
 * @param {Names} names
 * @param {(names: Names) => void} write
 * @returns {VNode}
 */
export function drawDoors(open, pick, names, write) {
    const drawWay = (/** @type {Way} */ way, /** @type {string} */ text, /** @type {string} */ kind) =>
        h(
            "button",
            {
                key: `${kind} ${way}`,
                class: kind,
                "aria-pressed": String(open === way),
                onclick: () => pick(open === way ? null : way),
            },
            text,
        );
    const doors = DOORS.map(({ title, about, way, ways }) => {
        const entries = /** @type {[Way, string][]} */ (Object.entries(ways));
        const isOpen = open === way || entries.some(([each]) => each === open);
        return h(
            "li",
            { key: title, class: ["door", isOpen && "open"] },
            drawWay(way, title, "title"),
            h("p", { class: "muted" }, about),
            entries.length > 0
                ? h("div", { class: "ways", role: "group", "aria-label": title }, entries.map(([each, text]) => drawWay(each, text, "way")))
                : null,
            open === "screen" && way === "screen" ? drawNames(names, write) : null,
        );
    });
    return h("ul", { class: "doors", "aria-label": "Play" }, doors);
}

/**
 * The names of the two people on this screen, who need none.
 * @param {Names} names
 * @param {(names: Names) => void} write
 */
function drawNames(names, write) {
    const field = (/** @type {number} */ seat, /** @type {string} */ label, /** @type {string} */ placeholder) =>
        h("input", {
            key: seat,
            ".value": names[seat] ?? "",
            "aria-label": label,
            placeholder,
            maxlength: MAX_NAME,
            autocomplete: "off",
            oninput: (/** @type {Event} */ { currentTarget }) => {
                if (!(currentTarget instanceof HTMLInputElement)) return;
                write(seat === 0 ? [currentTarget.value, names[1]] : [names[0], currentTarget.value]);
            },
        });
    return h("div", { class: "names", key: "names" }, field(0, "Who begins", "Player 1"), field(1, "Who is second", "Player 2"));
}

/**
 * Against whom one plays behind a door.
 * @param {Way} way
 * @returns {Choices["opponent"]}
 */
export function opponentOf(way) {
    return way === "link" || way === "anyone" ? "friend" : way === "screen" ? "screen" : "ai";
}

/**
 * The choices for a game that is clicked while a door is open; null if its sheet asks for the rest.
 * @param {Way} way
 * @param {GameDescription} game
 * @param {Partial<Choices>} before the user's latest choices for this game, with the time control of
 *     now
 * @param {Names} names of the two people on one screen
 * @returns {Choices | null}
 */
export function choicesThrough(way, game, before, names) {
    const { door: _, ...choices } = validChoices(game, before);
    switch (way) {
        case "link":
            return { ...choices, opponent: "friend", invitation: "unlisted" };
        case "anyone":
            return { ...choices, opponent: "friend", invitation: "public" };
        case "screen":
            return { ...choices, opponent: "screen", names };
        case "more":
            return null;
        default:
            // Who watches is a choice of the sheet: nobody has made it here.
            return { ...choices, opponent: "ai", door: true, level: levelOf(way, game) };
    }
}

/**
 * The game's level that is easy, medium or hard. Easy is for who has just read the rules; the level
 * above hard hardly ever errs. A game without levels has one way.
 * @param {"easy" | "medium" | "hard"} way
 * @param {GameDescription} game
 */
export function levelOf(way, { levels, ...game }) {
    if (levels === 0) return validChoices({ levels, ...game }).level;
    const hard = Math.max(1, Math.ceil(0.8 * levels));
    return String(way === "easy" ? 1 : way === "medium" ? Math.ceil(levels / 2) : hard);
}
