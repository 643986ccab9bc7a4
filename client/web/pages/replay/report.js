/**
 * The analysis of a match in words: its progress, the accuracy of both sides, their mistakes, and the
 * turning points.
 *
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Analysis, AnalysisSummary, MatchAnalysis} from "./analysis.js"
 */

import { h } from "../../shell/elements.js";
import { plural, sentenceOf } from "../../shell/words.js";
import { unbroken } from "../../ui/thinking/panel.js";
import { SIGNS } from "./analysis.js";

/**
 * @param {MatchAnalysis} analysis
 * @param {{sides: string[], go: (ply: number) => void, shown: number}} match
 * @returns {Content}
 */
export function drawReport(analysis, { sides, go, shown }) {
    const { latest, refusal } = analysis;
    return [
        refusal ? h("p", { key: "refusal", class: "refusal", role: "alert" }, sentenceOf(refusal)) : null,
        latest ? drawState(analysis, latest) : refusal ? null : h("p", { key: "reading", class: "muted" }, "Looking for the analysis…"),
        latest?.summary ? drawSummary(latest.summary, sides) : null,
        latest?.summary ? drawTurningPoints(latest.summary.turning_points, go, shown) : null,
        latest?.state === "done" && latest.nodes > 0
            ? h("p", { key: "how", class: "muted how" }, `Each position was searched with ${latest.nodes.toLocaleString("en")} nodes.`)
            : null,
    ];
}

/**
 * @param {MatchAnalysis} analysis
 * @param {Analysis} latest
 * @returns {Content}
 */
function drawState(analysis, latest) {
    switch (latest.state) {
        case "none":
            return [
                h("p", { key: "about", class: "muted" }, "The engine looks at every position and shows where the match turned."),
                drawRequest(analysis, "Analyse this match"),
            ];
        case "failed":
            return [h("p", { key: "reason" }, sentenceOf(latest.reason || "The analysis failed")), drawRequest(analysis, "Try again")];
        case "refused":
            return h("p", { key: "reason", class: "muted" }, sentenceOf(latest.reason || "This match cannot be analysed"));
        case "queued":
            return drawProgress(latest, latest.ahead ? `${plural(latest.ahead, "analysis").replace("analysises", "analyses")} before it` : "Starts soon");
        case "running":
            return drawProgress(latest, `${latest.done_plies} of ${plural(latest.plies, "position")}`);
        default:
            return null;
    }
}

/**
 * @param {MatchAnalysis} analysis
 * @param {string} text
 */
function drawRequest(analysis, text) {
    const isRequesting = analysis.isRequesting;
    return h(
        "button",
        { key: "ask", class: "main", "aria-disabled": isRequesting, onclick: () => void analysis.ask() },
        isRequesting ? "Asking…" : text,
    );
}

/**
 * @param {Analysis} latest
 * @param {string} text
 */
function drawProgress({ done_plies, plies }, text) {
    return h(
        "p",
        { key: "progress", class: "progress" },
        h("span", { class: "pulse" }, "Analysing"),
        h("progress", { max: Math.max(1, plies), value: done_plies, "aria-label": "Analysing" }),
        h("span", { class: "muted" }, text),
    );
}

/**
 * @param {AnalysisSummary} summary
 * @param {string[]} sides
 * @returns {VNode}
 */
function drawSummary({ accuracy, counts }, sides) {
    const rows = /** @type {const} */ ([
        ["inaccuracy", "Inaccuracies"],
        ["mistake", "Mistakes"],
        ["blunder", "Blunders"],
    ]);
    return h(
        "table",
        { key: "summary", class: "summary" },
        h("thead", null, h("tr", null, h("td", null), sides.map((side) => h("th", { scope: "col" }, side)))),
        h(
            "tbody",
            null,
            h(
                "tr",
                { class: "accuracy" },
                h("th", { scope: "row" }, "Accuracy"),
                sides.map((_, seat) => h("td", null, accuracy[seat] == null ? "–" : `${Math.round(accuracy[seat])} %`)),
            ),
            rows.map(([mark, title]) =>
                h(
                    "tr",
                    null,
                    h("th", { scope: "row" }, h("span", { class: `sign mark-${mark}`, "aria-hidden": "true" }, SIGNS[mark]), ` ${title}`),
                    sides.map((_, seat) => h("td", null, counts[seat]?.[mark] ?? 0)),
                ),
            ),
        ),
    );
}

/**
 * @param {AnalysisSummary["turning_points"]} points
 * @param {(ply: number) => void} go
 * @param {number} shown
 */
function drawTurningPoints(points, go, shown) {
    if (points.length === 0) return h("p", { key: "turning" }, "No single move turned the match.");
    return h(
        "div",
        { key: "turning", class: "turning-points" },
        h("h3", null, points.length > 1 ? "Turning points" : "The turning point"),
        h(
            "ol",
            null,
            points.map(({ ply, sentence }) =>
                h(
                    "li",
                    { key: ply },
                    h(
                        "button",
                        { class: ["turning-point", ply + 1 === shown && "shown"], "aria-current": ply + 1 === shown ? "step" : null, onclick: () => go(ply + 1) },
                        unbroken(sentence),
                    ),
                ),
            ),
        ),
    );
}
