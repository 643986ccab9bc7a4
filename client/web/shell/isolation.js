/**
 * Names of people within other text, kept from turning its order around. The terminal and the server
 * do the same (server/bidi.py).
 */

/** The characters that are written from right to left, also those to come. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * The text for a place in another one, in a title or an attribute too: between the characters of an
 * isolate (UAX #9) if it has letters from right to left. `h` makes a `bdi` element of an isolate.
 * @param {string} text
 */
export function isolated(text) {
    return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}
