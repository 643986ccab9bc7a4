/**
 * The verdict of the analysis on the move that led to the shown ply, and the better line while it is
 * on the board.
 *
 * @import {Content} from "../../shell/elements.js"
 * @import {Played} from "../../shell/protocol.js"
 * @import {AnalysedPly} from "./analysis.js"
 * @import {Variation} from "./variation.js"
 */

import { h } from "../../shell/elements.js";
import { numberedMove } from "../../shell/words.js";
import { unbroken } from "../../ui/thinking/panel.js";
import { SIGNS } from "./analysis.js";

/** A loss of the chance to win below which two moves are about as good, from 0 to 1. */
const NEARLY_EQUAL = 0.02;

/**
 * The verdict on a move: the sentence of its mark, or the best move; and two buttons.
 * @param {AnalysedPly | null} entry of the position before the move
 * @param {Played | undefined} played
 * @param {object} ways to something better
 * @param {() => void} ways.showLine shows the better line on the board
 * @param {boolean} ways.isOpening whether that line is on its way from the server
 * @param {(() => void) | null} ways.playAgain starts a match against the AI before the move
 * @returns {Content}
 */
export function drawVerdict(entry, played, { showLine, isOpening, playAgain }) {
    if (!entry?.best || !played || entry.loss === undefined) return null;
    const isBest = entry.best === played.move;
    // Another search would choose another one of moves so near to each other, as that of a hint did.
    const other = entry.loss < NEARLY_EQUAL ? `About as good as ${entry.text}.` : `Best was ${entry.text}.`;
    const text = entry.mark ? entry.says_mark : isBest ? praiseOf(entry) : other;
    return h(
        "div",
        { class: "verdict", key: "verdict" },
        entry.mark ? h("b", { class: `sign mark-${entry.mark}`, "aria-hidden": "true" }, SIGNS[entry.mark]) : null,
        h("p", null, unbroken(text ?? "")),
        isBest || !entry.pv?.length
            ? null
            : h(
                  "div",
                  { class: "ways" },
                  h("button", { class: "small", "aria-busy": isOpening, onclick: showLine }, isOpening ? "Opening…" : "Best line"),
                  entry.mark && playAgain ? h("button", { class: "small", onclick: playAgain }, "Play it differently") : null,
              ),
    );
}

/** @param {AnalysedPly} entry */
function praiseOf({ only }) {
    return only ? "The only good move." : "The best move.";
}

/**
 * The moves of the line on the board, each a button, and the way back to the match.
 * @param {Variation} line
 * @param {() => void} back
 * @returns {Content}
 */
export function drawLine(line, back) {
    return h(
        "div",
        { class: "line-moves", key: "line", role: "group", "aria-label": "Best line" },
        h(
            "ol",
            null,
            line.moves.map((played, i) =>
                h(
                    "li",
                    { key: i },
                    h(
                        "button",
                        { class: ["move", i + 1 === line.at && "shown"], "aria-current": i + 1 === line.at ? "step" : null, onclick: () => line.show(i + 1) },
                        numberedMove(played, line.ply + i),
                    ),
                ),
            ),
        ),
        h("button", { class: "small to-live", onclick: back }, "Back to the match"),
    );
}
