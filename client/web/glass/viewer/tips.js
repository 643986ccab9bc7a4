/**
 * The tool tips of a viewer: what the words of the founding texts mean, in the sentence of the lesson
 * that defines them. The viewer loads them when the pointer is over it for the first time.
 */

import { WORDS } from "../text/words.js";

/** The word that explains a label of the viewer. @type {Record<string, string>} */
const LABELS = {
    Board: "layout",
    Visited: "successor",
    Leaves: "final state",
    "Cut-offs": "prune",
    Skipped: "prune",
    "Plain minimax": "maximizing and minimizing node",
    BL: "exponential branching",
    MAX: "maximizing and minimizing node",
    MIN: "maximizing and minimizing node",
    "end of the game": "final state",
    "~ estimate at the depth limit": "heuristic",
    "cut off: never visited": "prune",
    "Pseudo-code of minimax": "maximizing and minimizing node",
    "Pseudo-code of fail-hard": "fail-hard",
    "Pseudo-code of fail-soft": "fail-soft",
    "Pseudo-code of average min-max": "average min-max",
    "Pseudo-code of max-n": "max-n",
    "Pseudo-code of paranoid": "paranoid",
    "Pseudo-code of optimistic": "optimistic",
    "Pseudo-code of greedy": "hill climbing",
    "Pseudo-code of accumulators": "accumulator",
    "Pseudo-code of alpha-beta": "prune",
};

/**
 * Gives the label below the pointer its tool tip.
 * @param {EventTarget | null} target
 */
export function showTip(target) {
    if (!(target instanceof HTMLElement) || target.title !== "") return;
    const word = LABELS[(target.textContent ?? "").trim()];
    const meaning = word && WORDS[word];
    if (meaning) target.title = `${word}: ${meaning[1]}`;
}

// The pointer was over a label before this module was there.
showTip([...document.querySelectorAll(":hover")].at(-1) ?? null);
