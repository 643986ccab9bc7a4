/**
 * The address of a search. It has everything that the glass box shows, so that a link opens the same
 * step.
 */

/** The fields in which two searches side by side may differ. @typedef {"algorithm" | "form" | "depth" | "order" | "evaluator" | "cutOff" | "player" | "fresh"} SearchField */
/** A depth in plies, or the end of the game. @typedef {number | "end"} Depth */
/**
 * @typedef {object} SearchSettings
 * @property {string | null} algorithm
 * @property {string | null} form
 * @property {Depth | null} depth
 * @property {string | null} order
 * @property {string | null} evaluator
 * @property {string | null} cutOff
 * @property {number | null} player
 * @property {boolean | null} fresh
 */
/**
 * The contents of an address; a field that it does not have is null.
 * @typedef {SearchSettings & {
 *     lesson: string | null,
 *     run: number | null,
 *     game: string | null,
 *     options: Record<string, string>,
 *     position: string | null,
 *     moves: string[],
 *     match: string | null,
 *     ply: number | null,
 *     tree: string | null,
 *     graph: string | null,
 *     seed: number | null,
 *     view: string | null,
 *     step: number | null,
 *     with: Partial<SearchSettings> | null,
 * }} Address
 */

/** The prefix of the parameters of a game's options. */
const OPTION = "option.";

/** Reads a field from text, and writes it as text. @typedef {{read: (text: string) => any, write: (value: any) => string}} Kind */

/** @type {Record<"text" | "number" | "depth" | "flag" | "moves", Kind>} */
const KINDS = {
    text: { read: (text) => text, write: String },
    number: { read: readNumber, write: String },
    depth: { read: (text) => (text === "end" ? text : readNumber(text)), write: String },
    flag: { read: (text) => (text === "1" || text === "0" ? text === "1" : null), write: (value) => (value ? "1" : "0") },
    moves: { read: (text) => text.split(" ").filter(Boolean), write: (moves) => moves.join(" ") },
};

/** The fields in which two searches may differ, in the order of the parameter `with`. @type {[SearchField, string, Kind][]} */
const SEARCH_FIELDS = [
    ["algorithm", "algorithm", KINDS.text],
    ["form", "form", KINDS.text],
    ["depth", "depth", KINDS.depth],
    ["order", "order", KINDS.text],
    ["evaluator", "evaluator", KINDS.text],
    ["cutOff", "cutoff", KINDS.text],
    ["player", "player", KINDS.number],
    ["fresh", "fresh", KINDS.flag],
];

/** All fields with a parameter of their own: field, parameter, kind. @type {[string, string, Kind][]} */
const FIELDS = [
    ["lesson", "lesson", KINDS.text],
    ["run", "run", KINDS.number],
    ["game", "game", KINDS.text],
    ["position", "position", KINDS.text],
    ["moves", "moves", KINDS.moves],
    ["match", "match", KINDS.text],
    ["ply", "ply", KINDS.number],
    ["tree", "tree", KINDS.text],
    ["graph", "graph", KINDS.text],
    ...SEARCH_FIELDS,
    ["seed", "seed", KINDS.number],
    ["view", "view", KINDS.text],
    ["step", "step", KINDS.number],
];

/** @param {string} text */
function readNumber(text) {
    const number = Number(text);
    return /^\d{1,15}$/.test(text) ? number : null;
}

/** @returns {Address} */
export function emptyAddress() {
    const address = Object.fromEntries(FIELDS.map(([field]) => [field, null]));
    return /** @type {any} */ ({ ...address, options: {}, moves: [], with: null });
}

/**
 * Reads an address; a parameter that cannot be read is null.
 * @param {URLSearchParams} query
 * @returns {Address}
 */
export function readAddress(query) {
    /** @type {Record<string, any>} */
    const address = emptyAddress();
    for (const [field, parameter, kind] of FIELDS) {
        const text = query.get(parameter);
        if (text !== null) address[field] = kind.read(text);
    }
    for (const [name, value] of query) if (name.startsWith(OPTION)) address.options[name.slice(OPTION.length)] = value;
    const second = query.get("with");
    if (second !== null) address.with = readSecond(second);
    return /** @type {Address} */ (address);
}

/**
 * Writes an address; `readAddress` reads the same one.
 * @param {Address} address
 * @returns {URLSearchParams}
 */
export function writeAddress(address) {
    const query = new URLSearchParams();
    const values = /** @type {Record<string, any>} */ (address);
    for (const [field, parameter, { write }] of FIELDS) {
        const value = values[field];
        if (value === null || value === undefined || (field === "moves" && value.length === 0)) continue;
        query.set(parameter, write(value));
        if (field === "game") writeOptions(query, address.options);
    }
    if (address.game === null) writeOptions(query, address.options);
    if (address.with !== null) query.set("with", writeSecond(address.with));
    return query;
}

/**
 * @param {URLSearchParams} query
 * @param {Record<string, string>} options
 */
function writeOptions(query, options) {
    for (const [name, value] of Object.entries(options)) query.set(OPTION + name, value);
}

/**
 * The fields in which the second search differs, by position: "minimax::3" has another algorithm and
 * another depth. A colon within a field is written "%3A".
 * @param {string} text
 */
function readSecond(text) {
    /** @type {Record<string, any>} */
    const second = {};
    text.split(":").forEach((part, index) => {
        const [field, , kind] = SEARCH_FIELDS[index] ?? [];
        if (field === undefined || kind === undefined || part === "") return;
        const value = kind.read(decodePart(part));
        if (value !== null) second[field] = value;
    });
    return /** @type {Partial<SearchSettings>} */ (second);
}

/** @param {Partial<SearchSettings>} second */
function writeSecond(second) {
    const parts = SEARCH_FIELDS.map(([field, , { write }]) => {
        const value = second[field];
        return value === null || value === undefined ? "" : encodePart(write(value));
    });
    return parts.join(":").replace(/:+$/, "");
}

/** @param {string} part */
function encodePart(part) {
    return part.replaceAll("%", "%25").replaceAll(":", "%3A");
}

/** @param {string} part */
function decodePart(part) {
    return part.replaceAll("%3A", ":").replaceAll("%25", "%");
}
