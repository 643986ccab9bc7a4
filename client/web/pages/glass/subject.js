/**
 * The subject of a search: a game and a position (by text, by moves on a board, or from a match), a tree
 * or a graph as text, or a search of a lesson.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Address} from "../../glass/trace/address.js"
 * @import {LessonRun, LessonSummary, TraceChoices} from "../../glass/trace/requests.js"
 * @import {TraceError} from "../../glass/trace/stream.js"
 * @import {TraceHead} from "../../glass/trace/trace.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {MoveBoard} from "./move-board.js"
 * @import {Subject} from "./search.js"
 */

import { h } from "../../shell/elements.js";
import { drawSegments } from "./fields.js";
import { NO_SUBJECT } from "./search.js";
import { drawTextField } from "./text-field.js";

/** The kinds of subjects. @type {Record<Subject, string>} */
const SUBJECTS = { game: "Game", tree: "Tree", graph: "Graph", lesson: "Lesson" };
/** A link to a match, with its id and perhaps a ply. */
const MATCH_LINK = /\/match\/([\w-]{1,24})\/?(?:\?ply=(\d{1,6}))?/i;
/** Maximum length of a position's text, in characters (server/commands.py). */
const MAX_POSITION = 1000;

/**
 * The contents and the callbacks of the subject's part of the form.
 * @typedef {object} SubjectForm
 * @property {Subject} subject the chosen kind of subject
 * @property {Address} state
 * @property {TraceChoices} choices
 * @property {GameDescription[]} games
 * @property {{title: string, lessons: LessonSummary[]}[] | null} topics null while the lessons load
 * @property {LessonRun[] | null} runs of the lesson; null while they load
 * @property {TraceHead | null} head of the trace
 * @property {TraceError | null} textError the mistake in the text
 * @property {string} positionError why the position was refused, or ""
 * @property {MoveBoard} moveBoard
 * @property {(subject: Subject) => void} choose
 * @property {(changes: Partial<Address>) => void} change
 * @property {(text: string) => void} announce
 */

/**
 * @param {SubjectForm} form
 * @returns {Content}
 */
export function drawSubject(form) {
    const { subject, choose } = form;
    return [
        drawSegments("subject", "What is searched", SUBJECTS, subject, (value) => choose(/** @type {Subject} */ (value))),
        subject === "game" ? drawGame(form) : null,
        subject === "tree" || subject === "graph" ? drawText(form, subject) : null,
        subject === "lesson" ? drawLesson(form) : null,
    ];
}

/**
 * @param {SubjectForm} form
 * @param {"tree" | "graph"} kind
 */
function drawText({ state, choices, textError, change, announce }, kind) {
    return drawTextField({
        kind,
        text: state[kind] ?? "",
        maxLength: choices.limits.text_bytes,
        error: textError,
        change: (text) => change({ ...NO_SUBJECT, [kind]: text }),
        announce,
    });
}

/** @param {SubjectForm} form */
function drawGame(form) {
    const { state, choices, change } = form;
    if (state.match !== null) return drawMatch(form, state.match);
    const onChange = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement && change({ ...NO_SUBJECT, game: event.currentTarget.value });
    const options = choices.games.map(({ id, title }) => h("option", { key: id, value: id }, title));
    const select = h("select", { id: "game", ".value": state.game ?? "", onchange: onChange }, options);
    return h(
        "div",
        { class: "subject game", key: "game" },
        h("div", { class: "field" }, h("label", { for: "game" }, "Game"), select),
        drawOptions(form),
        drawPosition(form),
        drawBoard(form),
        drawMatchLink(form),
    );
}

/** @param {SubjectForm} form */
function drawOptions({ state, games, change }) {
    const game = games.find(({ id }) => id === state.game);
    return Object.entries(game?.options ?? {}).map(([name, option]) => {
        const value = state.options[name] ?? option.default;
        const pick = (/** @type {Event} */ event) => {
            const field = event.currentTarget;
            if (field instanceof HTMLSelectElement || field instanceof HTMLInputElement)
                change({ options: { ...state.options, [name]: field.value.trim() }, moves: [] });
        };
        const id = `option-${name}`;
        const offered = option.offered.map((text) => h("option", { key: text, value: text }, option.phrases?.[text] ?? text));
        const control = option.free
            ? h("input", { id, ".value": value, onchange: pick })
            : h("select", { id, ".value": value, onchange: pick }, offered);
        return h("div", { class: "field", key: id }, h("label", { for: id }, option.title), control);
    });
}

/** @param {SubjectForm} form */
function drawPosition({ state, positionError, change }) {
    const onInput = (/** @type {Event} */ event) => {
        if (!(event.currentTarget instanceof HTMLTextAreaElement)) return;
        const text = event.currentTarget.value.trim();
        change({ position: text === "" ? null : text, moves: [] });
    };
    return h(
        "div",
        { class: "field position", key: "position" },
        h("label", { for: "position" }, "Position as text"),
        h("textarea", {
            id: "position",
            rows: 2,
            maxlength: MAX_POSITION,
            spellcheck: "false",
            autocapitalize: "off",
            autocomplete: "off",
            placeholder: "the start of the game",
            "aria-invalid": positionError !== "",
            "aria-describedby": positionError ? "position-refusal" : null,
            ".value": state.position ?? "",
            oninput: onInput,
        }),
        positionError ? h("p", { class: "refusal", role: "alert", id: "position-refusal", key: "refusal" }, positionError) : null,
    );
}

/** @param {SubjectForm} form */
function drawBoard({ state, moveBoard, change, announce }) {
    if (state.game === null) return null;
    const { game, options, position, moves } = state;
    return h(
        "div",
        { class: "field moves-field", key: "board" },
        h("p", { class: "label" }, "Or make moves"),
        moveBoard.draw({ game, options, position, moves }, (next) => change({ moves: next }), announce),
    );
}

/** @param {SubjectForm} form */
function drawMatchLink({ change }) {
    const onInput = (/** @type {Event} */ event) => {
        if (!(event.currentTarget instanceof HTMLInputElement)) return;
        const found = MATCH_LINK.exec(event.currentTarget.value);
        if (found) change({ ...NO_SUBJECT, match: found[1]?.toLowerCase() ?? null, ply: Number(found[2] ?? 0) });
    };
    return h(
        "div",
        { class: "field", key: "link" },
        h("label", { for: "match-link" }, "Or paste the link of a replay"),
        h("input", { id: "match-link", placeholder: "…/match/…?ply=12", spellcheck: "false", ".value": "", oninput: onInput }),
    );
}

/**
 * The position of a match at a ply.
 * @param {SubjectForm} form
 * @param {string} match
 */
function drawMatch({ state, head, change }, match) {
    const onInput = (/** @type {Event} */ event) => {
        const field = event.currentTarget;
        if (field instanceof HTMLInputElement && field.value !== "" && field.validity.valid) change({ ply: Number(field.value) });
    };
    const detach = () =>
        head && change({ ...NO_SUBJECT, game: head.game, options: head.options ?? {}, position: head.position });
    return h(
        "div",
        { class: "subject match", key: "match" },
        h("p", null, "A position of ", h("a", { href: `/match/${match}?ply=${state.ply ?? 0}` }, "a match"), "."),
        h(
            "div",
            { class: "field" },
            h("label", { for: "ply" }, "After this many plies"),
            h("input", { id: "ply", type: "number", min: 0, step: 1, ".value": String(state.ply ?? 0), oninput: onInput }),
        ),
        h(
            "div",
            { class: "row" },
            h("button", { type: "button", disabled: !head, onclick: detach }, "Make other moves from here"),
        ),
    );
}

/** @param {SubjectForm} form */
function drawLesson({ state, topics, runs, change }) {
    if (topics === null) return h("p", { class: "muted", key: "lesson" }, "Loading the lessons…");
    const onChange = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement && change({ ...NO_SUBJECT, lesson: event.currentTarget.value, run: 0 });
    const onRun = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement && change({ run: Number(event.currentTarget.value) });
    const groups = topics.map(({ title, lessons }) =>
        h(
            "optgroup",
            { key: title, label: title },
            lessons.map((lesson) => h("option", { key: lesson.name, value: lesson.name }, lesson.title)),
        ),
    );
    const captions = (runs ?? []).map(({ caption }, i) => h("option", { key: i, value: String(i) }, caption));
    return h(
        "div",
        { class: "subject", key: "lesson" },
        h(
            "div",
            { class: "field" },
            h("label", { for: "lesson" }, "Lesson"),
            h("select", { id: "lesson", ".value": state.lesson ?? "", onchange: onChange }, groups),
        ),
        captions.length > 1
            ? h(
                  "div",
                  { class: "field" },
                  h("label", { for: "run" }, "Search"),
                  h("select", { id: "run", ".value": String(state.run ?? 0), onchange: onRun }, captions),
              )
            : null,
        state.lesson === null ? null : h("p", null, h("a", { href: `/learn/${state.lesson}` }, "Open the lesson")),
    );
}
