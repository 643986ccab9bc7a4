/** Why the clock of a match stands, in words. */

/** By the `why` of the event. @type {Record<string, string>} */
const REASONS = {
    outage: "the server was away",
    maintenance: "the server is being maintained",
    clock: "the server's time of day is being set",
};

/**
 * "The clock stands: the server was away".
 * @param {string} why of the event; a newer server may have other reasons
 */
export function heldText(why) {
    return ["The clock stands", REASONS[why]].filter(Boolean).join(": ");
}
