/**
 * Parts of a replay's page: a failure, the controls, the list of moves and the facts of the match.
 *
 * @import {App} from "../../shell/app.js"
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {Played, Substitution} from "../../shell/protocol.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Share} from "../../ui/share.js"
 * @import {AnalysedPly, MatchAnalysis} from "./analysis.js"
 * @import {Playback, Speed} from "./playback.js"
 */

import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { drawGlassLink, drawMoves } from "../../ui/moves.js";
import { drawRulesButton, drawSettingsButton } from "../../ui/sheets.js";
import { drawFlip } from "../../ui/table.js";
import {
    agoText,
    numberedMove,
    optionsText,
    playersOfSeat,
    pointsText,
    resultSentence,
    sentenceOf,
    sideColours,
    sideName,
} from "../../shell/words.js";
import { SIGNS } from "./analysis.js";
import { SPEEDS } from "./playback.js";

/**
 * The page for a match that cannot be shown.
 * @param {string} message
 * @returns {VNode}
 */
export function drawFailure(message) {
    return h(
        "div",
        { class: "notice card" },
        h("h1", null, "This match cannot be shown"),
        h("p", null, sentenceOf(message)),
        h("p", null, h("a", { href: "/replays" }, "To the replays")),
    );
}

/**
 * The slider through the plies of the match.
 * @param {{shown: number, head: number, text: string, go: (ply: number) => void}} slider
 */
export function drawSlider({ shown, head, text, go }) {
    const slide = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && go(Number(event.currentTarget.value));
    return h("input", {
        class: "slider",
        type: "range",
        min: 0,
        max: head,
        ".value": String(shown),
        "aria-label": "Ply",
        "aria-valuetext": text,
        oninput: slide,
    });
}

/**
 * The button that plays the moves, and the choice of the speed.
 * @param {Playback} playback
 * @param {() => void} toggle
 * @param {boolean} hasTimes whether the time of each move is known
 */
export function drawPlayback(playback, toggle, hasTimes) {
    const choose = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLSelectElement && playback.setSpeed(/** @type {Speed} */ (currentTarget.value));
    const speeds = Object.entries(SPEEDS).filter(([, { step_ms }]) => hasTimes || step_ms !== null);
    return h(
        "div",
        { class: "playback", key: "playback" },
        h("button", { class: "small", "aria-pressed": playback.isPlaying, onclick: toggle }, playback.isPlaying ? "Stop" : "Play the moves"),
        h(
            "select",
            { class: "small", "aria-label": "Speed", ".value": playback.speed, onchange: choose },
            speeds.map(([speed, { title }]) => h("option", { value: speed }, title)),
        ),
    );
}

/**
 * The moves with their marks, the result, and the links of the shown ply.
 * @param {StoredMatch} match
 * @param {{shown: number, go: (ply: number) => void, analysis: MatchAnalysis, playOn: (() => void) | null, isOpening: boolean, download: () => void}} state
 */
export function drawMoveCard(match, { shown, go, analysis, playOn, isOpening, download }) {
    const list = drawMoves({
        moves: match.moves,
        shown,
        go,
        sides: [0, 1].map((seat) => sideName(match.view, seat)),
        colours: sideColours(match.view),
        markOf: (ply) => markOf(analysis.at(ply)),
    });
    const { over } = match;
    const result = over ? drawResult(match, over) : null;
    const substitutions = (over?.substitutions ?? []).map((substitution) =>
        h("p", { class: "muted" }, substitutionText(substitution, match.moves)),
    );
    return h(
        "section",
        { class: "card move-card", "aria-label": "Moves" },
        list,
        substitutions,
        result,
        h(
            "div",
            { class: "ways-on" },
            playOn ? h("button", { class: "small", "aria-busy": isOpening, onclick: playOn }, isOpening ? "Opening…" : "Play on from here") : null,
            match.withheld ? null : drawGlassLink(match.match, shown),
            match.formats ? h("button", { class: "small", onclick: download }, "Download") : null,
        ),
    );
}

/**
 * The result of the match: its points and why it ended.
 * @param {StoredMatch} match
 * @param {NonNullable<StoredMatch["over"]>} over
 */
export function drawResult({ view }, over) {
    return h("p", { class: "result", key: "result" }, h("b", null, pointsText(over)), ` ${resultSentence(over, view)}`);
}

/**
 * The mark of an analysed move, for lists and graphs.
 * @param {AnalysedPly | null} entry
 */
export function markOf(entry) {
    return entry?.mark ? { sign: SIGNS[entry.mark], word: entry.mark } : null;
}

/**
 * @param {App} app
 * @param {StoredMatch} match
 * @param {{share: Share, shown: number, flip: () => void, embed: () => void, clock: string}} state `clock`
 *     is the time control in words, "" without one
 */
export function drawInfo(app, match, { share, shown, flip, embed, clock }) {
    const options = optionsText(match);
    const when = match.finished_ms ?? match.started_ms;
    return h(
        "section",
        { class: "card info", "aria-label": "Match" },
        h("h2", null, match.title, options ? h("span", { class: "muted" }, options) : null),
        h(
            "p",
            { class: "muted facts" },
            [match.length, clock, agoText(when, Date.now())].filter(Boolean).join(" · "),
            drawRulesButton(app, match.game, match.title),
        ),
        share.draw(`?ply=${shown}`),
        h(
            "div",
            { class: "actions" },
            match.room ? h("a", { class: "button", href: `/room/${match.room}` }, "The room") : null,
            drawFlip(flip),
            drawSettingsButton(app),
            h("button", { class: "small", onclick: () => print() }, "Print"),
            match.public ? h("button", { class: "small", onclick: embed }, "Embed") : null,
        ),
        match.seats.map((occupant, seat) =>
            occupant.kind === "ai" || occupant.identity === match.seats[seat - 1]?.identity
                ? null
                : h("p", { class: "more-of" }, h("a", { href: `/replays?player=${encodeURIComponent(occupant.identity)}` }, `Matches of ${playersOfSeat(match, seat)}`)),
        ),
    );
}

/**
 * The head of the page on paper: the game, the players, the result and the date.
 * @param {StoredMatch} match
 * @returns {Content}
 */
export function drawPrintHead(match) {
    const players = match.seats.map((_, seat) => playersOfSeat(match, seat)).join(" – ");
    const result = match.over ? `${pointsText(match.over)}, ${match.over.reason}` : "";
    const date = new Date(match.finished_ms ?? match.started_ms).toLocaleDateString(undefined, { dateStyle: "long" });
    return h(
        "div",
        { class: "print-head" },
        h("p", { class: "print-title" }, `${match.title}: ${players}`),
        h("p", null, [result, match.length, date].filter(Boolean).join(" · ")),
    );
}

/**
 * From which move on an AI or the player played the seat.
 * @param {Substitution} substitution
 * @param {Played[]} moves
 */
export function substitutionText({ ply, occupant }, moves) {
    const from = ply < moves.length ? `from ${numberedMove(/** @type {Played} */ (moves[ply]), ply)} on` : "at the end";
    return occupant.kept_for
        ? `${isolated(occupant.name)} played for ${isolated(occupant.kept_for.name)} ${from}.`
        : `${isolated(occupant.name)} was back ${from}.`;
}
