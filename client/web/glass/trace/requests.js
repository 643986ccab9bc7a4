/**
 * Requests to the server for traces, lessons, boards and the choices for a search. A function throws
 * a TraceError when the server refuses.
 *
 * @import {BoardView, MoveView, PositionView} from "../../shell/protocol.js"
 */

import { NetworkError } from "../../shell/api.js";
import { errorOf } from "./stream.js";

/**
 * The reasons why an entry conflicts with values of other fields, by field and value; the value "*"
 * stands for all.
 * @typedef {Record<string, Record<string, string>>} Refusals
 */
/** A value that a field may have. @typedef {{name: string, title?: string, text?: string, refuses?: Refusals}} Choice */
/**
 * A game that can be searched: its usual depth and evaluator, and the kinds of its pieces, which an
 * evaluator may weigh.
 * @typedef {{id: string, title: string, depth: number | null, evaluator: string, kinds?: string[],
 *     refuses?: Refusals}} GameChoice
 */
/** The fields of a search that a request may have. @typedef {Record<string, unknown>} TraceRequest */
/** An instructive pair of searches. @typedef {{title: string, left: TraceRequest, right: TraceRequest}} PairChoice */
/**
 * The choices for a search. `defaults` has the values of the fields that a request omits.
 * @typedef {object} TraceChoices
 * @property {Choice[]} algorithms
 * @property {Choice[]} forms
 * @property {(Choice & {moves?: boolean})[]} orders
 * @property {(Choice & {weights?: boolean})[]} evaluators
 * @property {Choice[]} cut_offs
 * @property {Record<string, {refuses?: Refusals, players?: number}>} subjects
 * @property {GameChoice[]} games
 * @property {PairChoice[]} [pairs]
 * @property {Record<string, any>} [defaults]
 * @property {{depth: number, nodes: number, seconds: number, text_bytes: number}} limits
 */
/** A lesson in the list. @typedef {{name: string, title: string, summary: string, is_exercise: boolean, nodes: number}} LessonSummary */
/** A lesson before or after another one. @typedef {{name: string, title: string}} LessonName */
/**
 * A lesson with its texts, in which the numbers of its searches are filled in.
 * @typedef {object} LessonBody
 * @property {string} name
 * @property {string} title
 * @property {string} page
 * @property {string[]} look_for
 * @property {string[]} solution of an exercise
 * @property {LessonName | null} previous
 * @property {LessonName | null} next
 * @property {[number, number] | null} compares the two runs to show side by side
 * @property {LessonRun[]} runs
 */
/** A search of a lesson. @typedef {{caption: string, name?: string, request?: TraceRequest | null}} LessonRun */

/** The cached choices. @type {Promise<TraceChoices> | null} */
let choices = null;

/**
 * The choices for a search, requested once.
 * @returns {Promise<TraceChoices>}
 */
export function readChoices() {
    choices ??= readJson("/api/trace/choices").catch((error) => {
        choices = null;
        throw error;
    });
    return choices;
}

/**
 * The lessons by topic.
 * @returns {Promise<{topics: {title: string, lessons: LessonSummary[]}[]}>}
 */
export function readLessons() {
    return readJson("/api/lessons");
}

/**
 * A lesson with its searches.
 * @param {string} name
 * @returns {Promise<LessonBody>}
 */
export function readLesson(name) {
    return readJson(`/api/lessons/${encodeURIComponent(name)}`);
}

/**
 * The questions and the exercise of a lesson.
 * @template T
 * @param {string} name
 * @returns {Promise<T>}
 */
export function readQuiz(name) {
    return readJson(`/api/lessons/${encodeURIComponent(name)}/quiz`);
}

/**
 * The states of a search's subject, laid out as a state machine.
 * @param {TraceRequest} request
 * @returns {Promise<any>}
 */
export function readMachine(request) {
    return readJson("/api/trace/machine", jsonBody(request));
}

/**
 * The printed listings with their results.
 * @returns {Promise<any>}
 */
export function readListings() {
    return readJson("/api/listings");
}

/**
 * The results of the printed listings on a tree.
 * @param {string} tree
 * @returns {Promise<any>}
 */
export function runListings(tree) {
    return readJson("/api/listings", jsonBody({ tree }));
}

/**
 * Starts a search; the response streams its trace.
 * @param {TraceRequest} request
 * @param {AbortSignal} [signal]
 */
export function startTrace(request, signal) {
    return send("/api/trace", { ...jsonBody(request), signal });
}

/**
 * Starts the search of a lesson; the response streams its trace.
 * @param {string} lesson
 * @param {number} run
 * @param {AbortSignal} [signal]
 */
export function startRun(lesson, run, signal) {
    return send(`/api/lessons/${encodeURIComponent(lesson)}/${run}`, { signal });
}

/**
 * The positions after lines of moves. With `legal` their legal moves and the board are added.
 * @param {{game: string, options: Record<string, string>, position: string | null, lines: string[][],
 *     legal?: boolean}} request
 * @param {AbortSignal} [signal]
 * @returns {Promise<{positions: PositionView[], moves?: MoveView[][], board?: BoardView}>}
 */
export function readBoards(request, signal) {
    return readJson("/api/trace/boards", { ...jsonBody(request), signal });
}

/** @param {object} request */
function jsonBody(request) {
    return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
}

/**
 * The server's answer; throws NetworkError without one, and TraceError for a refusal.
 * @param {string} path
 * @param {RequestInit} [init]
 */
async function send(path, init) {
    const response = await fetch(path, { credentials: "same-origin", ...init }).catch((error) => {
        if (init?.signal?.aborted) throw error;
        throw new NetworkError();
    });
    if (response.ok) return response;
    throw await errorOf(response);
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
async function readJson(path, init) {
    return (await send(path, init)).json();
}
