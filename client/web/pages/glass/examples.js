/**
 * The example texts of the page.
 */

/** A tree and a graph from the founding texts (engine/teach). @type {Record<"tree" | "graph", string>} */
export const EXAMPLES = {
    tree: "max(\n  A: min(10, 25, 50),\n  B: min(5, 2, 25)\n)",
    graph: "start: max(rock: r, paper: p, scissors: s)\nr: min(0, 1, -1)\np: min(-1, 0, 1)\ns: min(1, -1, 0)",
};
