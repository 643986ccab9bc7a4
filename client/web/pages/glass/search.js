/**
 * The request for a state of the page's address, and which values conflict. The choices and the
 * conflicts come from the server; this module only looks them up. Pure functions.
 *
 * @import {Address} from "../../glass/trace/address.js"
 * @import {Choice, Refusals, TraceChoices, TraceRequest} from "../../glass/trace/requests.js"
 */

/** The kind of subject of a search. @typedef {"game" | "tree" | "graph" | "lesson"} Subject */
/** A field of a search. @typedef {"algorithm" | "form" | "depth" | "order" | "evaluator" | "cutOff" | "player" | "seed" | "fresh"} Field */
/** The effective values of the fields of a search. @typedef {Partial<Record<Field, any>>} Values */

/** The fields of a search, with their names in requests. @type {Record<Field, string>} */
export const FIELDS = {
    algorithm: "algorithm",
    form: "form",
    depth: "depth",
    order: "order",
    evaluator: "evaluator",
    cutOff: "cut_off",
    player: "player",
    seed: "seed",
    fresh: "fresh",
};
/** @type {Field[]} */
const FIELD_NAMES = /** @type {Field[]} */ (Object.keys(FIELDS));
/** The fields of an address for the subject, all empty. */
export const NO_SUBJECT = {
    game: null,
    options: {},
    position: null,
    moves: [],
    match: null,
    ply: null,
    lesson: null,
    run: null,
    tree: null,
    graph: null,
};
/** The fields of a search, all empty: the server then uses its defaults. */
export const NO_FIELDS = /** @type {Record<Field, null>} */ (
    Object.fromEntries(FIELD_NAMES.map((field) => [field, null]))
);

/**
 * The kind of subject of a state; null without a subject.
 * @param {Address} state
 * @returns {Subject | null}
 */
export function subjectOf(state) {
    if (state.lesson !== null) return "lesson";
    if (state.graph !== null) return "graph";
    if (state.tree !== null) return "tree";
    return state.match !== null || state.game !== null ? "game" : null;
}

/**
 * The body of the request for the state's first search; null without a subject.
 * @param {Address} state
 * @returns {TraceRequest | null}
 */
export function requestOf(state) {
    const subject = subjectRequest(state);
    if (subject === null) return null;
    const fields = FIELD_NAMES.flatMap((field) => {
        const value = state[field];
        if (value === null || value === undefined) return [];
        return [[FIELDS[field], field === "depth" && value === "end" ? null : value]];
    });
    return { ...subject, ...Object.fromEntries(fields) };
}

/**
 * @param {Address} state
 * @returns {TraceRequest | null}
 */
function subjectRequest(state) {
    const { game, options, position, moves, match, ply } = state;
    switch (subjectOf(state)) {
        case "tree":
            return state.tree?.trim() ? { tree: state.tree } : null;
        case "graph":
            return state.graph?.trim() ? { graph: state.graph } : null;
        case "game":
            if (match !== null) return { match, ...(ply === null ? null : { ply }) };
            return {
                game,
                ...(Object.keys(options).length > 0 ? { options } : null),
                ...(position === null ? null : { position }),
                ...(moves.length > 0 ? { moves } : null),
            };
        default:
            return null;
    }
}

/**
 * The state whose first search is the second one of a state.
 * @param {Address} state
 * @returns {Address | null} null without a second search
 */
export function secondOf(state) {
    return state.with === null ? null : { ...state, ...state.with, with: null };
}

/**
 * The fields of a search that a request has.
 * @param {TraceRequest} request
 * @returns {Partial<Address>}
 */
export function fieldsOf(request) {
    return Object.fromEntries(
        FIELD_NAMES.flatMap((field) => {
            const name = FIELDS[field];
            if (!(name in request)) return [];
            return [[field, field === "depth" && request[name] === null ? "end" : request[name]]];
        }),
    );
}

/**
 * The state that a request describes, such as that of a lesson's search.
 * @param {Address} state
 * @param {TraceRequest} request
 * @returns {Address}
 */
export function stateOfRequest(state, request) {
    const subject = Object.fromEntries(
        Object.entries(NO_SUBJECT).map(([name, nothing]) => [name, request[name] ?? nothing]),
    );
    return { ...state, ...subject, ...NO_FIELDS, ...fieldsOf(request) };
}

/**
 * The values that a search has: those that are chosen, otherwise those of its trace, otherwise the
 * server's defaults.
 * @param {Address} state
 * @param {TraceChoices} choices
 * @param {Record<string, any> | null} head of the search's trace
 * @returns {Values}
 */
export function valuesOf(state, choices, head) {
    const game = choices.games.find(({ id }) => id === (state.game ?? head?.game));
    const subject = game ?? choices.subjects[subjectOf(state) ?? ""];
    return Object.fromEntries(
        FIELD_NAMES.map((field) => {
            const name = FIELDS[field];
            const value = state[field] ?? head?.[name] ?? /** @type {any} */ (subject)?.[name] ?? choices.defaults?.[name];
            const isEnd = field === "depth" && value == null && (head !== null || (subject && name in subject));
            return [field, isEnd ? "end" : (value ?? null)];
        }),
    );
}

/**
 * The name of a value without its parameters: "material" of "material:queen=9".
 * @param {unknown} value
 */
export function baseOf(value) {
    return String(value ?? "").split(":")[0] ?? "";
}

/**
 * The reason why a value conflicts with the other values; "" if it does not.
 * @param {TraceChoices} choices
 * @param {Address} state
 * @param {Values} values
 * @param {Field} field
 * @param {unknown} value "*" for the reason why the field can have no value at all
 */
export function refusalOf(choices, state, values, field, value) {
    for (const refuses of refusals(choices, state, values, field)) {
        const reasons = refuses[FIELDS[field]];
        const reason = reasons?.[baseOf(value)] ?? reasons?.["*"];
        if (reason) return reason;
    }
    return "";
}

/**
 * The refusals of the entries that are chosen in the other fields, and of the subject.
 * @param {TraceChoices} choices
 * @param {Address} state
 * @param {Values} values
 * @param {Field} field
 * @returns {Refusals[]}
 */
function refusals(choices, state, values, field) {
    /** @type {[Field, Choice[]][]} */
    const lists = [
        ["algorithm", choices.algorithms],
        ["form", choices.forms],
        ["order", choices.orders],
        ["evaluator", choices.evaluators],
        ["cutOff", choices.cut_offs],
    ];
    const chosen = lists.flatMap(([name, entries]) =>
        name === field ? [] : entries.filter((entry) => baseOf(entry.name) === baseOf(values[name])),
    );
    const subject = choices.subjects[subjectOf(state) ?? ""];
    const game = choices.games.find(({ id }) => id === state.game);
    return [...chosen, subject, game].flatMap((entry) => (entry?.refuses ? [entry.refuses] : []));
}

/**
 * The state with changes. A chosen value that conflicts with them is cleared.
 * @param {TraceChoices} choices
 * @param {Address} state
 * @param {Partial<Address>} changes
 * @returns {Address}
 */
export function withChanges(choices, state, changes) {
    const changed = { ...state, ...changes };
    const values = valuesOf(changed, choices, null);
    for (const field of FIELD_NAMES) {
        const isNew = field in changes;
        if (!isNew && changed[field] !== null && refusalOf(choices, changed, values, field, changed[field]))
            /** @type {Record<string, unknown>} */ (changed)[field] = null;
    }
    return changed;
}
