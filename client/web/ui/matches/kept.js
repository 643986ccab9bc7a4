/**
 * The latest choices for matches, which the browser keeps: those made in the lobby, and those of the
 * games that were played next in a room. The lobby offers them again.
 */

/**
 * Choices as they are kept; the lobby's choices.js says what each is.
 * @typedef {{game?: string, options?: Record<string, string>, opponent?: string, level?: string,
 *     side?: string, clock?: string, start?: string | null, help?: boolean, door?: boolean}} Kept
 */

/** The number of choices that the browser keeps, the latest first. */
const MAX_KEPT = 12;
/** The storage's key of the latest choices. */
const STORAGE_KEY = "choices";

/**
 * Keeps choices as the latest ones.
 * @param {Kept} choices
 */
export function keepChoices({ start: _, help, door, ...rest }) {
    const choices = { ...rest, ...(help && { help }), ...(door && rest.opponent === "ai" && { door }) };
    const others = readKept().filter((stored) => !isSame(stored, choices));
    try {
        localStorage.setItem(STORAGE_KEY, JSON.stringify([choices, ...others].slice(0, MAX_KEPT)));
    } catch {
        // Without storage the choices last as long as the page.
    }
}

/** The choices that the browser keeps, the latest first. @returns {Kept[]} */
export function readKept() {
    try {
        const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
        return Array.isArray(stored) ? stored.filter((entry) => typeof entry === "object" && entry !== null) : [];
    } catch {
        return [];
    }
}

/**
 * Whether two choices are the same in all.
 * @param {Kept} a
 * @param {Kept} b
 */
export function isSame(a, b) {
    const entries = (/** @type {Kept} */ choices) =>
        JSON.stringify(Object.entries({ ...choices, options: Object.entries(choices.options ?? {}).sort() }).sort());
    return entries(a) === entries(b);
}
