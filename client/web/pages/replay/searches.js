/**
 * The panel with the search of the shown position, of which the bar beside the board speaks too: the
 * AI's own search, or else that of the analysis. Without both it is the AI's search for the move that
 * led there.
 *
 * @import {App} from "../../shell/app.js"
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 * @import {AnalysedPly, MatchAnalysis} from "./analysis.js"
 * @import {LoadedMatch} from "./loaded-match.js"
 */

import { glassPath, seatOf } from "../../ui/moves.js";
import { SearchTree } from "../../ui/thinking/search-tree.js";
import { hasAi } from "../../ui/table.js";
import { NOT_SEARCHED, ThinkingPanel, thoughtFor, thoughtHeading } from "../../ui/thinking/panel.js";
import { numberedMove, sideName } from "../../shell/words.js";

/** What the panel says beside a better line. */
const IN_LINE = "This line was not played, so there is no search of it.";

export class Searches {
    #panel;
    #tree;

    /** @param {App} app */
    constructor(app) {
        this.#panel = new ThinkingPanel(() => app.update());
        this.#tree = new SearchTree(app, () => import("../../glass/viewer/seat-tree.js"));
    }

    /** The arrows to draw on the board: the cells of the move that the user points at. */
    get arrows() {
        return this.#panel.arrows;
    }

    stop() {
        this.#tree.stop();
    }

    /**
     * @param {StoredMatch} match
     * @param {LoadedMatch} loaded
     * @param {MatchAnalysis} analysis
     * @param {number} shown
     * @param {boolean} isInLine whether the board shows a line, which has no searches
     * @returns {VNode | null} null for a match in which nothing was searched
     */
    draw(match, loaded, analysis, shown, isInLine) {
        if (isInLine) return this.#panel.draw({ thought: null, empty: IN_LINE });
        const here = loaded.thoughts[shown];
        if (here) return this.#drawOwn(match, loaded, { ply: shown, thought: here });
        const entry = analysis.at(shown);
        if (entry?.candidates) return this.#drawAnalysed(match, shown, entry);
        const before = thoughtFor(loaded.thoughts, shown, false);
        if (before) return this.#drawOwn(match, loaded, before);
        const substitutes = (match.over?.substitutions ?? []).map(({ occupant }) => occupant);
        if (!hasAi([...match.seats, ...substitutes])) return null;
        return this.#panel.draw({ thought: null, empty: match.withheld ?? (shown === 0 ? "Start position." : NOT_SEARCHED) });
    }

    /**
     * @param {StoredMatch} match
     * @param {LoadedMatch} loaded
     * @param {{ply: number, thought: Thought}} search
     */
    #drawOwn(match, loaded, search) {
        const seat = loaded.view(search.ply)?.turn ?? seatOf(match.moves, search.ply);
        const side = sideName(match.view, seat);
        const played = match.moves[search.ply];
        return this.#panel.draw({
            thought: search.thought,
            side,
            heading: thoughtHeading(side, search, played),
            played: played?.move ?? null,
            glass: glassPath(match.match, search.ply),
            tree: this.#tree.draw(match.match, search.ply, match.seats[seat], search.thought),
        });
    }

    /**
     * @param {StoredMatch} match
     * @param {number} ply
     * @param {AnalysedPly} entry
     */
    #drawAnalysed(match, ply, entry) {
        const side = sideName(match.view, entry.seat);
        const played = match.moves[ply];
        return this.#panel.draw({
            thought: analysedThought(entry),
            side,
            heading: played ? `${side}, ${numberedMove(played, ply)}` : side,
            played: played?.move ?? null,
        });
    }
}

/** The searches of analysed positions for the panel, one object each, so that a pointer stays on it. @type {WeakMap<AnalysedPly, Thought>} */
const thoughts = new WeakMap();

/**
 * The search of an analysed position for the panel, without the engine's own figures.
 * @param {AnalysedPly} entry
 * @returns {Thought}
 */
function analysedThought(entry) {
    const known = thoughts.get(entry);
    if (known) return known;
    const { seat, chance, says, line = "", candidates = [] } = entry;
    const thought = /** @type {Thought} */ ({
        ...{ seat, state: "done", depth: 0, score: 0, nodes: 0, nps: 0, time_ms: 0, pv: [], moves: [], warming: false },
        ...{ ready: null, value: "", log: "", withheld: "" },
        assessment: { sentence: `The analysis likes ${line}.`, chance: seat === 0 ? chance : 100 - chance, says, candidates },
    });
    thoughts.set(entry, thought);
    return thought;
}
