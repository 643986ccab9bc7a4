/**
 * The browser's texts for numbers, results, moves and players. Pure functions.
 *
 * @import {AddAi, BoardView, MatchState, Occupant, MatchResult, Played,
 *     RootMove} from "./protocol.js"
 */

import { isolated } from "./isolation.js";

/** The score of a win in 0 plies; a win in n plies scores n less (engine/search/job.py). */
const MATE = 30_000;
/** A score closer to MATE than this is a forced win; the difference is its length in plies. */
const MAX_MATE_PLIES = 1000;

/** The signs before a score that is a bound. @type {Record<NonNullable<RootMove["bound"]>, string>} */
const BOUND_SIGNS = { exact: "", lower: "≥ ", upper: "≤ " };

/**
 * A message of the server as a sentence: its first letter in upper case.
 * @param {string} text
 */
export function sentence(text) {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * A score for the side that searched: "+12", "−3", "win in 5".
 * @param {number} score
 * @param {RootMove["bound"]} [bound]
 */
export function scoreText(score, bound = "exact") {
    const plies = MATE - Math.abs(score);
    if (plies < MAX_MATE_PLIES) return `${BOUND_SIGNS[bound]}${score > 0 ? "win" : "loss"} in ${plies}`;
    const sign = score > 0 ? "+" : score < 0 ? "−" : "";
    return `${BOUND_SIGNS[bound]}${sign}${Math.abs(score)}`;
}

/**
 * A count to three digits: "812", "48.2 k", "3.10 M".
 * @param {number} count
 */
export function countText(count) {
    const [scale, unit] =
        count >= 1e9 ? [1e9, " G"] : count >= 1e6 ? [1e6, " M"] : count >= 1e3 ? [1e3, " k"] : [1, ""];
    const number = count / scale;
    return `${unit === "" ? number : number.toFixed(number >= 100 ? 0 : number >= 10 ? 1 : 2)}${unit}`;
}

/**
 * A duration: "85 ms", "1.2 s".
 * @param {number} ms
 */
export function durationText(ms) {
    return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * How long ago a time was: "just now", "5 min ago", "3 h ago", otherwise the date.
 * @param {number} then_ms
 * @param {number} now_ms
 */
export function agoText(then_ms, now_ms) {
    const minutes = Math.floor((now_ms - then_ms) / 60_000);
    if (minutes < 1) return "just now";
    if (minutes < 60) return `${minutes} min ago`;
    if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
    return new Date(then_ms).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

/**
 * The name of a side: "Red".
 * @param {BoardView | null | undefined} board
 * @param {number} seat
 */
export function sideName(board, seat) {
    return board?.seats[seat]?.name ?? (seat === 0 ? "First" : "Second");
}

/**
 * The colours of the sides.
 * @param {BoardView | null | undefined} board
 */
export function sideColours(board) {
    return board?.seats.map(({ colour }) => colour) ?? [];
}

/**
 * The name of a seat's occupant, or "empty seat": "Ada", "AI level 4 for Bob".
 * @param {Occupant | null | undefined} occupant
 */
export function occupantName(occupant) {
    if (!occupant) return "empty seat";
    const name = isolated(occupant.name);
    return occupant.kept_for ? `${name} for ${isolated(occupant.kept_for.name)}` : name;
}

/**
 * Everyone who played a seat in a match: "Bob", or "Bob and AI level 4" if an AI played on for Bob.
 * @param {Pick<MatchState, "seats" | "over">} match a match as it is stored: `seats` are those of its
 *     start
 * @param {number} seat
 */
export function playersOfSeat({ seats, over }, seat) {
    const substitutes = (over?.substitutions ?? []).filter((each) => each.seat === seat && each.occupant.kept_for);
    const names = new Set([seats[seat]?.name ?? "empty seat", ...substitutes.map(({ occupant }) => occupant.name)].map(isolated));
    return [...names].join(" and ");
}

/**
 * The personas: their names and how they play.
 * @type {Record<string, {name: string, about: string}>}
 */
export const PERSONAS = {
    average: { name: "Average", about: "Expects you to play any move, good or bad, and plays for the best average." },
    swindler: { name: "Swindler", about: "Picks, among the good moves, the one after which you can err most." },
    random: { name: "Random", about: "Plays any legal move." },
};

/** The strategies of every server: their names in commands and for people. @type {Record<string, string>} */
export const STRATEGIES = {
    minimax: "MiniMax",
    negamax: "NegaMax",
    alphabeta: "AlphaBeta",
    average: "Average MiniMax",
    "max-n": "MaxN",
    greedy: "Greedy",
    random: "Random",
};
/** The start of a choice that is a strategy: "strategy:minimax", with a depth "strategy:minimax:5". */
const STRATEGY_PREFIX = "strategy:";
/** A choice that is a strategy. */
const STRATEGY_CHOICE = /^strategy:([a-z0-9-]{1,40})(?::(\d{1,2}))?$/;

/**
 * The choice of a strategy as text.
 * @param {string} strategy
 * @param {number | null} [depth] null for the server's default
 */
export function strategyChoice(strategy, depth = null) {
    return STRATEGY_PREFIX + strategy + (depth === null ? "" : `:${depth}`);
}

/**
 * The strategy and the depth of a choice; null for a level or a persona.
 * @param {string} level
 * @returns {{strategy: string, depth: number | null} | null}
 */
export function parseStrategy(level) {
    const match = STRATEGY_CHOICE.exec(level);
    return match && { strategy: match[1] ?? "", depth: match[2] === undefined ? null : Number(match[2]) };
}

/**
 * The fields of a command that name an AI, from the number of a level, the id of a persona, or the
 * choice of a strategy.
 * @param {string} level
 * @returns {Pick<AddAi, "level" | "persona" | "strategy" | "depth">}
 */
export function aiFields(level) {
    const choice = parseStrategy(level);
    if (choice) return { strategy: choice.strategy, ...(choice.depth !== null && { depth: choice.depth }) };
    return level in PERSONAS ? { persona: /** @type {AddAi["persona"]} */ (level) } : { level: Number(level) };
}

/**
 * The level, the persona or the strategy of an AI, as a tooltip.
 * @param {Occupant} occupant
 */
export function aiTitle({ level, persona, strategy, evaluator }) {
    if (strategy) return `The strategy ${strategy} with the evaluator ${evaluator}`;
    if (!persona) return `The AI at level ${level ?? "?"}`;
    return PERSONAS[persona]?.about ?? `The AI as ${persona}`;
}

/**
 * The points after a result, those of a seat first: " 40 to 24"; "" in a game without points.
 * @param {MatchResult} over
 * @param {number} seat
 */
export function pointsSuffix({ points }, seat) {
    return points ? ` ${points[seat]} to ${points[1 - seat]}`.replaceAll("-", "−") : "";
}

/**
 * The result of a match: "Red wins", "Black wins 40 to 24", "Draw", "Aborted". Unequal points did not
 * decide a draw, and are left out.
 * @param {MatchResult} over
 * @param {BoardView | null | undefined} board
 * @param {(seat: number) => string} [nameOf] the name of a player, which is otherwise the side's
 */
export function resultText(over, board, nameOf = (seat) => sideName(board, seat)) {
    if (over.winner !== null) {
        const name = nameOf(over.winner);
        const isPlural = name.endsWith("s") && name === sideName(board, over.winner);
        return `${name} win${isPlural ? "" : "s"}${pointsSuffix(over, over.winner)}`;
    }
    if (isDraw(over)) return new Set(over.points).size > 1 ? "Draw" : `Draw${pointsSuffix(over, 0)}`;
    return NO_RESULT_TEXTS[over.how] ?? "Match over";
}

/**
 * The result of a match with its reason: "You lost 3 to 5: you resigned", "You won: Ben resigned", for a
 * spectator "Ada (Red) wins: Ben (Blue) resigned"; "The match was aborted". A reason does not name the
 * winner again: of "Red has joined both edges" stays "joined both edges".
 * @param {MatchResult} over
 * @param {BoardView | null | undefined} board
 * @param {number | null} [seat] the viewer's seat
 * @param {(seat: number) => string} [nameOf] as of `resultText`
 */
export function resultSentence(over, board, seat = null, nameOf) {
    const { how, winner } = over;
    if (how === "abort") return "The match was aborted";
    const told = winner === null || seat !== null ? "" : `${sideName(board, winner)} has `;
    const name = (/** @type {number} */ each) =>
        each === seat || !nameOf ? sideName(board, each) : nameOf(each);
    // One inside the other: a player may have the name of the other side.
    const rename = (/** @type {string} */ text) => text.split(sideName(board, 1)).join(name(1));
    const reason = over.reason.replace(told, "").split(sideName(board, 0)).map(rename).join(name(0));
    if (seat === null || winner === null) return `${resultText(over, board, nameOf)}: ${reason}`;
    const points = pointsSuffix(over, seat);
    if (winner === seat) return `You won${points}: ${reason}`;
    return `You lost${points}: ${how === "resign" ? "you resigned" : how === "flag" ? "out of time" : reason}`;
}

/**
 * A message of the server as a sentence: "there is no such room" becomes "There is no such room."
 * @param {string} message
 */
export function sentenceOf(message) {
    const end = /[.!?]$/.test(message) ? "" : ".";
    return message.charAt(0).toUpperCase() + message.slice(1) + end;
}

/**
 * Why a room cannot be played, in a sentence.
 * @param {string} code the code in `joined`
 * @param {boolean} hasMatch whether a match is stopped by it
 */
export function frozenText(code, hasMatch) {
    if (code === "game.hung") return HUNG_TEXT + (hasMatch ? "The match can go on" : "It can be played again") + AFTER_RESTART;
    const subject = hasMatch ? "This match" : "This room";
    return FROZEN_TEXTS[code] ?? `${subject} can be read but not played: the server no longer has its rules`;
}

/** Why a room cannot be played, by code. @type {Record<string, string>} */
const FROZEN_TEXTS = {
    "room.newer": "This room was made by a newer Plyroom; it can be read here and played elsewhere",
    "room.full": "This room is full: it takes no more events, but it can be read. Open a new room to play on",
};
const HUNG_TEXT = "This game is out of order: one of its rules did not return. ";
const AFTER_RESTART = " after a restart of the server";

/**
 * The results without a winner that are not draws, by `how`. A newer server may end a match in
 * another way; its reason is shown beside the result.
 * @type {Record<string, string>}
 */
const NO_RESULT_TEXTS = { abort: "Aborted", failure: "No result", noshow: "No result" };

/**
 * The result as points: "40 – 24", in a game without points "1 – 0"; a dash for a match without a
 * result.
 * @param {MatchResult} over
 */
export function pointsText(over) {
    if (over.points) return over.points.join(" – ").replaceAll("-", "−");
    if (over.winner !== null) return over.winner === 0 ? "1 – 0" : "0 – 1";
    return isDraw(over) ? "½ – ½" : "–";
}

/** The values of `how` that mean a draw if nobody won. */
const DRAWS = new Set(["board", "claim", "agreement", "gone", "flag"]);

/**
 * Whether a match is a draw; an aborted match is not.
 * @param {MatchResult} over
 */
export function isDraw(over) {
    return over.winner === null && DRAWS.has(over.how);
}

/**
 * A move in its notation, with "(forced)" after a pass that the server played.
 * @param {Played | undefined} played
 */
export function moveText(played) {
    const text = played?.text ?? played?.move ?? "";
    return played?.forced ? `${text} (forced)` : text;
}

/**
 * The number of a move as its game counts, "3." or "3..."; else the ply, counted from 1.
 * @param {Played | undefined} played
 * @param {number} ply the ply of the position before the move
 */
export function moveNumber(played, ply) {
    return played?.number ?? `${ply + 1}.`;
}

/**
 * A move with its number: "3... Nf6".
 * @param {Played} played
 * @param {number} ply the ply of the position before the move
 */
export function numberedMove(played, ply) {
    return `${moveNumber(played, ply)} ${moveText(played)}`;
}

/**
 * The options of a room or a match in words: "With the swap rule", "3 by 3 boxes". A server of an
 * earlier version sends no words.
 * @param {{options: Record<string, string>, options_text?: string}} described
 */
export function optionsText({ options, options_text }) {
    if (options_text) return options_text;
    const words = Object.entries(options).map(([name, value]) => {
        if (value === "yes") return name;
        if (value === "no") return `no ${name}`;
        return /^\d+$/.test(value) ? `${name} ${value}` : value;
    });
    return words.join(", ").replaceAll("_", " ");
}

/**
 * A count with its noun: "1 move", "5 moves", "9 men".
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
    return `${count} ${count === 1 ? noun : pluralNoun(noun)}`;
}

/**
 * The plural of a noun: "discs", "boxes", "men".
 * @param {string} noun
 */
function pluralNoun(noun) {
    if (/(^|\W)man$/.test(noun)) return noun.replace(/man$/, "men");
    return `${noun}${/(x|s|ch)$/.test(noun) ? "es" : "s"}`;
}

/**
 * What a player is asked who must choose one of the opponent's pieces to take: "Take one of Black's
 * men". The kind's name ends with its noun, as in "black man".
 * @param {BoardView} board
 * @param {string} kind
 */
export function takeText({ kinds, seats }, kind) {
    const { name = "piece", side = null } = kinds[kind] ?? {};
    const noun = pluralNoun(name.split(" ").at(-1) ?? name);
    return side === null ? `Take one of the ${noun}` : `Take one of ${seats[side]?.name}'s ${noun}`;
}

/**
 * The players of a match, for titles: "Ada – AI level 5".
 * @param {MatchState["seats"]} seats
 */
export function versus(seats) {
    return seats.map(occupantName).join(" – ");
}
