/**
 * The chances to win of a match, as a graph and as a bar beside the board. They come from the
 * analysis, or else from the AI's own searches. The page loads the drawing module with the first one.
 *
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {ChanceGraph} from "../../ui/thinking/chance-graph.js"
 * @import {MatchAnalysis} from "./analysis.js"
 * @import {LoadedMatch} from "./loaded-match.js"
 */

import { seatOf } from "../../ui/moves.js";
import { numberedMove, sideColours, sideName } from "../../shell/words.js";
import { markOf } from "./parts.js";

export class ChanceView {
    #update;
    /** @type {typeof import("../../ui/thinking/chance-graph.js") | null} */
    #module = null;
    #isRequested = false;
    /** @type {ChanceGraph | null} */
    #graph = null;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
    }

    /**
     * @param {StoredMatch} match
     * @param {LoadedMatch} loaded
     * @param {MatchAnalysis} analysis
     * @param {number} shown
     * @param {(ply: number) => void} go
     * @returns {Content}
     */
    drawGraph(match, loaded, analysis, shown, go) {
        const chances = chancesOf(match, loaded, analysis);
        if (chances.every((chance) => chance === null) || !this.#load()) return null;
        const { moves } = match;
        const marks = moves.flatMap((_, ply) => {
            const mark = markOf(analysis.at(ply));
            return mark ? [[ply + 1, mark]] : [];
        });
        return this.#graph?.draw({
            chances,
            marks: Object.fromEntries(marks),
            // With a clock the graph of the times has them.
            spent_ms: match.clock ? [] : (match.spent_ms ?? []),
            shown,
            go,
            textOf: (ply) => (ply > 0 && moves[ply - 1] ? numberedMove(moves[ply - 1], ply - 1) : "Start"),
            side: sideName(match.view, 0),
            unknown: analysis.isUnderWay ? "not analysed yet" : "",
            seatOf: (ply) => seatOf(moves, ply),
        });
    }

    /**
     * @param {StoredMatch} match
     * @param {LoadedMatch} loaded
     * @param {MatchAnalysis} analysis
     * @param {number} shown
     * @param {number} bottom the seat whose bar is below the board
     * @returns {Content}
     */
    drawBar(match, loaded, analysis, shown, bottom) {
        const chances = chancesOf(match, loaded, analysis);
        // A ply without a search has the chance of the last search before it.
        const searched = chances.slice(0, shown + 1).findLast((each) => each !== null) ?? null;
        if (searched === null || !this.#load()) return null;
        const over = shown === match.moves.length ? match.over : null;
        const chance = over ? (this.#module?.chanceAtEnd(over) ?? null) : searched;
        const names = [0, 1].map((seat) => sideName(match.view, seat));
        return this.#module?.drawChanceBar({ chance, bottom, names, colours: sideColours(match.view) });
    }

    /** Requests the module once; returns whether it has arrived. */
    #load() {
        if (!this.#isRequested) {
            this.#isRequested = true;
            void import("../../ui/thinking/chance-graph.js").then(
                (module) => {
                    this.#module = module;
                    this.#graph = new module.ChanceGraph(this.#update);
                    this.#update();
                },
                () => (this.#isRequested = false),
            );
        }
        return this.#module !== null;
    }
}

/**
 * The chance of the first side by ply, in percent: that of the analysis, or else of the AI's search at
 * this ply.
 * @param {StoredMatch} match
 * @param {LoadedMatch} loaded
 * @param {MatchAnalysis} analysis
 * @returns {(number | null)[]}
 */
export function chancesOf(match, loaded, analysis) {
    return Array.from({ length: match.moves.length + 1 }, (_, ply) => {
        const entry = analysis.at(ply);
        if (entry) return entry.chance;
        const own = loaded.thoughts[ply]?.assessment?.chance;
        if (own == null) return null;
        return seatOf(match.moves, ply) === 0 ? own : 100 - own;
    });
}
