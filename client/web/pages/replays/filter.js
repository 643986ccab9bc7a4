/** The filter of the list of matches, which the page's address has. Pure functions. */

/**
 * "" filters nothing. `player` is an identity, or `ai:` and a level. `since` and `until` are the
 * first and the last day, as "2026-11-23". `before` and `after` are the page's cursors.
 * @typedef {Record<typeof NAMES[number], string>} Filter
 */

/** The fields of a filter, in the order of an address. */
const NAMES = /** @type {const} */ (["game", "player", "result", "speed", "min_plies", "max_plies", "since", "until", "before", "after"]);
/** The fields that a request has under the same name and with the same value. */
const SHARED_NAMES = /** @type {const} */ (["game", "player", "result", "speed", "min_plies", "max_plies", "before", "after"]);
/** The form of a day in an address. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The choices of lengths: the title, which counts the moves of one side as people do, and the least and
 * the greatest number of plies.
 * @type {Record<string, {title: string, min_plies: string, max_plies: string}>}
 */
export const LENGTHS = {
    any: { title: "Any length", min_plies: "", max_plies: "" },
    short: { title: "Up to 10 moves each", min_plies: "", max_plies: "20" },
    medium: { title: "11 to 30 moves each", min_plies: "21", max_plies: "60" },
    long: { title: "Over 30 moves each", min_plies: "61", max_plies: "" },
};

/**
 * The filter of an address.
 * @param {string} search
 * @returns {Filter}
 */
export function parseFilter(search) {
    const query = new URLSearchParams(search);
    return /** @type {Filter} */ (Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""])));
}

/**
 * The address of the list with a filter.
 * @param {Filter} filter
 */
export function addressOf(filter) {
    const query = new URLSearchParams(NAMES.flatMap((name) => (filter[name] === "" ? [] : [[name, filter[name]]])));
    return query.size > 0 ? `/replays?${query}` : "/replays";
}

/**
 * A filter with changes, on the first page. The results "won" and "lost" are those of a player.
 * @param {Filter} filter
 * @param {Partial<Filter>} changes
 * @returns {Filter}
 */
export function withChanges(filter, changes) {
    const next = { ...filter, ...changes, before: "", after: "" };
    const isOwn = next.result === "won" || next.result === "lost";
    const isOfSeat = next.result === "first" || next.result === "second";
    return (next.player === "" ? isOwn : isOfSeat) ? { ...next, result: "" } : next;
}

/**
 * The parameters of the request for the list. A day is one of this browser's time zone.
 * @param {Filter} filter
 * @returns {Record<string, string>}
 */
export function parametersOf(filter) {
    const same = SHARED_NAMES.flatMap((name) => (filter[name] === "" ? [] : [[name, filter[name]]]));
    const since = startOfDay(filter.since, 0);
    const until = startOfDay(filter.until, 1);
    return {
        ...Object.fromEntries(same),
        ...(since === null ? null : { since: String(since) }),
        ...(until === null ? null : { until: String(until) }),
    };
}

/**
 * The moment at which a day begins, in seconds since 1970; null for a text that is no day.
 * @param {string} day
 * @param {number} later the number of days after it
 */
function startOfDay(day, later) {
    if (!DAY.test(day)) return null;
    const [year, month, date] = day.split("-").map(Number);
    const at_ms = new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + later).getTime();
    return Number.isNaN(at_ms) ? null : Math.max(0, Math.floor(at_ms / 1000));
}

/**
 * The key in LENGTHS of a filter's length; "" for a length that only an address can have.
 * @param {Filter} filter
 */
export function lengthOf({ min_plies, max_plies }) {
    const found = Object.entries(LENGTHS).find(([, each]) => each.min_plies === min_plies && each.max_plies === max_plies);
    return found?.[0] ?? "";
}

/**
 * The length of a filter in words, for one that only an address can have.
 * @param {Filter} filter
 */
export function lengthText({ min_plies, max_plies }) {
    const [least, greatest] = [min_plies, max_plies].map((plies) => (/^\d+$/.test(plies) ? Math.ceil(Number(plies) / 2) : null));
    if (least == null && greatest == null) return "Another length";
    if (greatest == null) return `At least ${least} moves each`;
    return least == null ? `Up to ${greatest} moves each` : `${least} to ${greatest} moves each`;
}

/** The filter that leaves out no match. @type {Partial<Filter>} */
export const NO_FILTER = { game: "", player: "", result: "", speed: "", min_plies: "", max_plies: "", since: "", until: "" };

/**
 * Whether a filter leaves out matches, regardless of its page.
 * @param {Filter} filter
 */
export function leavesOutMatches(filter) {
    return NAMES.some((name) => name !== "before" && name !== "after" && filter[name] !== "");
}
