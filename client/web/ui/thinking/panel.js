/**
 * The panel with an AI's search: a sentence, the chance to win, the best moves, and on request the
 * engine's own figures. The server makes the words.
 *
 * @import {PicturedSearch} from "./search-picture.js"
 * @import {Candidate, Played, RootMove} from "../../shell/protocol.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { countText, durationText, moveNumber, numberedMove, scoreText } from "../../shell/words.js";

/** The texts for the states of a search. @type {Record<Thought["state"], string>} */
const STATE_TEXTS = { absent: "no engine", warming: "getting ready", queued: "about to think", searching: "thinking", done: "" };

/**
 * The state of a search: "waiting", "getting ready 40 %", "thinking".
 * @param {Thought} thought
 */
function stateText({ state, ready, wait }) {
    if (wait) return "waiting";
    const isWaiting = state === "warming" || state === "queued";
    return isWaiting && ready != null ? `${STATE_TEXTS.warming} ${ready} %` : STATE_TEXTS[state];
}
/** A score of this size or more fills its bar in the engine's table. */
const FULL_BAR_SCORE = 100;
/** What the panel says beside a move of a person. */
export const NOT_SEARCHED = "A person played this move: the AI did not search here.";
/** The title of a search's log, for the eye and for screen readers. */
const LOG_TITLE = "Log of the search";
/** The key of the browser's storage that hides the panel. */
const HIDDEN_KEY = "thinking";
/** One empty list for all scenes without arrows: a scene with another list would be drawn again. @type {string[][]} */
const NO_ARROWS = [];

/**
 * The search to show beside a position. Beside the current one that is its own search, or else the
 * last one; beside an earlier one only the search for the move that led to it.
 * @param {Record<number, Thought>} thoughts
 * @param {number} shown
 * @param {boolean} live whether the position is the current one
 * @returns {{ply: number, thought: Thought} | null}
 */
export function thoughtFor(thoughts, shown, live) {
    for (const ply of live ? [shown, shown - 1, shown - 2] : [shown - 1]) {
        if (thoughts[ply]) return { ply, thought: thoughts[ply] };
    }
    return null;
}

/**
 * The side and the move of a search: "Black, 3..." before the move is played, then "Black, 3... Nf6".
 * @param {string} side
 * @param {{ply: number, thought: Thought}} search
 * @param {Played | undefined} played
 */
export function thoughtHeading(side, { ply, thought }, played) {
    return `${side}, ${played ? numberedMove(played, ply) : (thought.number ?? moveNumber(played, ply))}`;
}

/**
 * What the panel shows. `side` is the side that searched, and `played` the token of the move that was
 * played. Without a thought, `empty` says why. `setting` is the host's control of who may see it,
 * `glass` the address of the position in the glass box, and `tree` the tree of a strategy's search.
 * @typedef {{thought: Thought | null, side?: string, heading?: string, played?: string | null, empty?:
 *     string, setting?: Content, glass?: string, tree?: Content}} PanelContent
 */

/** The panel, with the move that the user points at and the choice to hide it. */
export class ThinkingPanel {
    #update;
    /** The candidate that the user points at: its search, its move and its arrow. @type {{thought: Thought, move: string, arrows: string[][]} | null} */
    #pointed = null;
    #picture;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
        this.#picture = new FoldedPicture(update);
    }

    /**
     * The arrows to draw on the board: the cells of the move that the user points at.
     * @returns {string[][]}
     */
    get arrows() {
        return this.#pointed?.arrows ?? NO_ARROWS;
    }

    /**
     * @param {PanelContent} content
     * @returns {VNode}
     */
    draw({ thought, side = "", heading = "", played = null, empty = "The AI has not searched yet.", setting = null, glass = "", tree = null }) {
        if (this.#pointed && !isSameSearch(this.#pointed.thought, thought)) this.#point(null);
        const isRunning = thought !== null && thought.state !== "done";
        const isHidden = isThinkingHidden();
        const toggle = () => {
            setThinkingHidden(!isHidden);
            this.#point(null);
            this.#update();
        };
        return h(
            "section",
            {
                class: ["card thinking", thought?.ready != null && "getting-ready", isHidden && "collapsed"],
                "aria-label": "What the AI thinks",
                "data-state": thought?.state ?? "none",
            },
            h(
                "h2",
                null,
                "Thinking",
                h("span", { class: "muted" }, isHidden ? "" : heading),
                isRunning ? h("span", { class: "pulse state" }, stateText(thought)) : null,
                h("button", { class: "small quiet toggle", "aria-pressed": !isHidden, onclick: toggle }, isHidden ? "Show" : "Hide"),
            ),
            thought?.ready != null ? drawProgress(thought.ready, thought.warming) : null,
            isHidden ? null : this.#drawSearch(thought, side, played, empty, glass),
            isHidden ? null : tree,
            isHidden ? null : setting,
        );
    }

    /**
     * @param {Thought | null} thought
     * @param {string} side
     * @param {string | null} played
     * @param {string} empty
     * @param {string} glass
     * @returns {Content}
     */
    #drawSearch(thought, side, played, empty, glass) {
        if (thought === null) return h("p", { class: "muted empty" }, empty);
        if (thought.state === "absent")
            return h("p", { class: "muted empty" }, "No engine is connected. The match continues when one connects.");
        if (thought.wait) return h("p", { class: "muted empty" }, `${side} ${thought.wait}.`);
        if (thought.withheld) return h("p", { class: "muted empty" }, thought.withheld);
        const { assessment } = thought;
        if (thought.depth === 0 && !assessment) return h("p", { class: "muted empty" }, "…");
        return [
            assessment ? h("p", { class: "sentence" }, unbroken(assessment.sentence)) : null,
            assessment?.chance != null ? drawChance(side, assessment.chance, assessment.says ?? "") : null,
            assessment?.candidates ? this.#drawCandidates(thought, assessment.candidates, played) : null,
            assessment?.note ? h("p", { class: "note" }, assessment.note) : null,
            assessment?.depths?.length
                ? this.#picture.draw({
                      ...{ thought, assessment, side, played, glass },
                      handlersOf: (move, cells) => this.#handlers(thought, move, cells),
                  })
                : null,
            thought.depth > 0 ? drawEngineTable(thought, played, !assessment) : null,
            thought.log ? drawSearchLog(thought.log) : null,
        ];
    }

    /**
     * @param {Thought} thought
     * @param {Candidate[]} candidates
     * @param {string | null} played
     */
    #drawCandidates(thought, candidates, played) {
        return h(
            "ol",
            { class: "candidates", "aria-label": "The best moves that the AI knows" },
            candidates.map((candidate) => this.#drawCandidate(thought, candidate, candidate.move === played)),
        );
    }

    /**
     * A candidate. Pointing at it, or focusing it, shows its move on the board.
     * @param {Thought} thought
     * @param {Candidate} candidate
     * @param {boolean} played
     */
    #drawCandidate(thought, { move, text, says, chance = null, bound = "exact", cells = [] }, played) {
        const isPointed = this.#pointed?.move === move;
        return h(
            "li",
            { key: move },
            h(
                "button",
                { class: ["candidate", isPointed && "pointed"], title: "Show on the board", ...this.#handlers(thought, move, cells) },
                h("span", { class: "move-text" }, text, played ? h("span", { class: "mark" }, " played") : null),
                h(
                    "span",
                    { class: "meter", "aria-hidden": "true" },
                    chance === null
                        ? null
                        : h("span", { class: ["bar", bound !== "exact" && "bound"], "--fraction": (chance / 100).toFixed(2) }),
                ),
                h("span", { class: "says" }, says),
            ),
        );
    }

    /**
     * The listeners of a button that shows a move on the board while the user points at it.
     * @param {Thought} thought
     * @param {string} move
     * @param {string[]} cells
     */
    #handlers(thought, move, cells) {
        const point = () => {
            if (this.#pointed?.move === move) return;
            this.#point({ thought, move, arrows: cells.length > 0 ? [cells] : NO_ARROWS });
            this.#update();
        };
        const leave = () => {
            if (this.#pointed?.move !== move) return;
            this.#point(null);
            this.#update();
        };
        return { onpointerenter: point, onpointerleave: leave, onfocus: point, onblur: leave, onclick: point };
    }

    /** @param {{thought: Thought, move: string, arrows: string[][]} | null} candidate */
    #point(candidate) {
        this.#pointed = candidate;
    }
}

/** The picture of a search, folded until the user opens it. The module that draws it is loaded then. */
class FoldedPicture {
    #update;
    #isOpen = false;
    #hasFailed = false;
    /** @type {((search: PicturedSearch) => Content) | null} */
    #drawPicture = null;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
    }

    /**
     * @param {PicturedSearch} search
     * @returns {Content}
     */
    draw(search) {
        const onToggle = (/** @type {Event} */ event) => {
            if (event.currentTarget instanceof HTMLDetailsElement) this.#setOpen(event.currentTarget.open);
        };
        return h(
            "details",
            { class: "search-picture", key: "picture", open: this.#isOpen, ontoggle: onToggle },
            h("summary", null, "How it searched"),
            this.#isOpen ? this.#drawContent(search) : null,
        );
    }

    /** @param {PicturedSearch} search */
    #drawContent(search) {
        if (this.#drawPicture) return this.#drawPicture(search);
        return h("p", { class: "muted" }, this.#hasFailed ? "The picture could not be loaded. Open this part again." : "…");
    }

    /** @param {boolean} isOpen */
    #setOpen(isOpen) {
        if (isOpen === this.#isOpen) return;
        this.#isOpen = isOpen;
        if (isOpen && !this.#drawPicture) void this.#load();
        this.#update();
    }

    async #load() {
        this.#hasFailed = false;
        try {
            this.#drawPicture = (await import("./search-picture.js")).drawSearchPicture;
        } catch {
            this.#hasFailed = true;
        }
        this.#update();
    }
}

/**
 * A sentence in which no line ends between the number of a move and the move, or before a "%".
 * @param {string} sentence
 */
export function unbroken(sentence) {
    return sentence.replace(/(?<=\d\.) | (?=%)/g, "\u00a0");
}

/**
 * Whether two reports are of the same search: the user still points at a move of it.
 * @param {Thought} a
 * @param {Thought | null} b
 */
function isSameSearch(a, b) {
    return a === b || (b !== null && a.number !== undefined && a.number === b.number && a.seat === b.seat);
}

/**
 * The control with which the host chooses who may see the thinking during the next matches.
 * @param {string} setting
 * @param {(setting: "all" | "spectators" | "after") => void} choose
 * @returns {VNode}
 */
export function drawThinkingSetting(setting, choose) {
    const change = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement &&
        choose(/** @type {"all" | "spectators" | "after"} */ (event.currentTarget.value));
    return h(
        "label",
        { class: "setting", key: "setting" },
        h("span", { class: "muted" }, "In the next match, shown to"),
        h(
            "select",
            { class: "small", ".value": setting, onchange: change },
            Object.entries(THINKING_SETTINGS).map(([value, text]) => h("option", { value }, text)),
        ),
    );
}

/** Who may see the thinking, for each setting of a room. @type {Record<string, string>} */
export const THINKING_SETTINGS = { all: "everyone", spectators: "spectators only", after: "nobody before its end" };

/** Whether the user has hidden the panel. */
function isThinkingHidden() {
    try {
        return localStorage.getItem(HIDDEN_KEY) === "hidden";
    } catch {
        return hiddenWithoutStorage;
    }
}

/** The choice as long as the page lasts, in a browser without storage. */
let hiddenWithoutStorage = false;

/** @param {boolean} isHidden */
function setThinkingHidden(isHidden) {
    hiddenWithoutStorage = isHidden;
    try {
        if (isHidden) localStorage.setItem(HIDDEN_KEY, "hidden");
        else localStorage.removeItem(HIDDEN_KEY);
    } catch {
        // Without storage the choice lasts as long as the page.
    }
}

/**
 * The progress of compiling the game, which happens once per installation.
 * @param {number} ready in percent
 * @param {boolean} warming whether this search was less deep because the game is not compiled yet
 */
function drawProgress(ready, warming) {
    return h(
        "p",
        { class: "ready" },
        h("span", null, "Getting ready, only once"),
        h("progress", { max: 100, value: ready, "aria-label": "Getting ready" }),
        warming ? h("span", { class: "muted" }, "Until then it plays below its level.") : null,
    );
}

/**
 * The chance to win as a bar, and in words.
 * @param {string} side
 * @param {number} chance in percent
 * @param {string} says
 */
function drawChance(side, chance, says) {
    return h(
        "div",
        { class: "chance", role: "img", "aria-label": `${side}: ${says}` },
        h("span", { class: "track" }, h("span", { class: "bar", "--fraction": (chance / 100).toFixed(2) })),
        h("span", { class: "says" }, says),
    );
}

/**
 * The engine's own figures: the search, its line, and the score of each move.
 * @param {Thought} thought
 * @param {string | null} played
 * @param {boolean} open whether they are shown at first: a server of an earlier version sends no words
 */
function drawEngineTable(thought, played, open) {
    return h(
        "details",
        { class: "all-moves", key: "all-moves", ...(open ? { open: true } : null) },
        h("summary", null, "All moves"),
        drawFigures(thought),
        drawPv(thought.pv),
        drawRootMoves(thought, played),
    );
}

/** @param {Thought} thought */
function drawFigures({ depth, score, value, nodes, nps, time_ms }) {
    const drawFigure = (/** @type {string} */ name, /** @type {string} */ value) =>
        h("div", { class: `figure ${name}` }, h("dt", null, name), h("dd", null, value));
    return h(
        "dl",
        { class: "figures" },
        drawFigure("score", value || scoreText(score)),
        drawFigure("depth", String(depth)),
        drawFigure("positions", countText(nodes)),
        drawFigure("per second", countText(nps)),
        drawFigure("time", durationText(time_ms)),
    );
}

/** @param {string[]} pv */
function drawPv(pv) {
    return h(
        "p",
        { class: "line", title: "The moves that the AI expects" },
        h("span", { class: "muted" }, "expects "),
        pv.join(" "),
    );
}

/**
 * @param {Thought} thought
 * @param {string | null} played
 */
function drawRootMoves({ moves, pv }, played) {
    if (moves.length === 0) return null;
    const order = [...moves].sort((a, b) => Number(b.move === pv[0]) - Number(a.move === pv[0]) || b.score - a.score);
    const rows = order.map((move) => drawRootMove(move, move.move === pv[0], move.move === played));
    return h(
        "div",
        { class: "root-moves", tabindex: 0, role: "group", "aria-label": "Moves and their scores" },
        h(
            "table",
            null,
            h(
                "thead",
                null,
                h(
                    "tr",
                    null,
                    h("th", null, "move"),
                    h("th", null, "score"),
                    h("th", { class: "hidden-text" }, "score as a bar"),
                ),
            ),
            h("tbody", null, rows),
        ),
    );
}

/**
 * @param {RootMove} move
 * @param {boolean} best
 * @param {boolean} played
 */
function drawRootMove({ move, score, bound = "exact" }, best, played) {
    const fraction = Math.min(1, Math.abs(score) / FULL_BAR_SCORE);
    const title = { exact: "exact", upper: "at most this", lower: "at least this" }[
        bound
    ];
    // At most a win, or at least a loss, says nothing.
    const text = scoreText(score, bound);
    const isKnown = bound === "exact" || !/win|loss/.test(text) || (score > 0) === (bound === "lower");
    return h(
        "tr",
        { key: move, class: [best && "best", played && "played"] },
        h("td", null, move, played ? h("span", { class: "mark", title: "played" }, " played") : null),
        h("td", { class: "number", title }, isKnown ? text : "no better"),
        h(
            "td",
            { class: "meter" },
            isKnown
                ? h("span", { class: ["bar", score < 0 && "minus", bound !== "exact" && "bound"], "--fraction": fraction.toFixed(3) })
                : null,
        ),
    );
}

/**
 * The log of a strategy's search, folded until the user opens it; nothing without a log.
 * @param {string} log lines of text
 * @returns {Content}
 */
function drawSearchLog(log) {
    if (log === "") return null;
    return h(
        "details",
        { class: "search-log" },
        h("summary", null, LOG_TITLE),
        h("pre", { tabindex: 0, role: "region", "aria-label": LOG_TITLE }, log),
    );
}
