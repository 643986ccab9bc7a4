/**
 * The chances to win of a room's match, from the AI's searches that this viewer may see: a graph for
 * the panel with the thinking, and a bar beside the board.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { headPly } from "../../shell/model.js";
import { numberedMove, sideColours, sideName } from "../../shell/words.js";
import { ChanceGraph, chanceAtEnd, drawChanceBar } from "./chance-graph.js";
import { seatOf } from "../moves.js";

export class LiveChance {
    #graph;

    /** @param {App} app */
    constructor(app) {
        this.#graph = new ChanceGraph(() => app.update());
    }

    /**
     * @param {Room} room
     * @param {{shown: number, go: (ply: number) => void, bottom: number}} view
     * @returns {{graph: Content, bar: Content}}
     */
    draw(room, { shown, go, bottom }) {
        const board = room.description?.view;
        const moves = room.match?.moves ?? [];
        const chances = chancesOf(room);
        const over = shown === headPly(room) ? room.match?.over : null;
        const chance = over ? chanceAtEnd(over) : (chances.slice(0, shown + 1).findLast((each) => each !== null) ?? null);
        const names = [0, 1].map((seat) => sideName(board, seat));
        const isLine = chances.filter((each) => each !== null).length > 1;
        const drawn = isLine
            ? this.#graph.draw({
                  chances,
                  shown,
                  go,
                  textOf: (ply) => (ply > 0 && moves[ply - 1] ? numberedMove(moves[ply - 1], ply - 1) : "Start"),
                  side: names[0] ?? "",
                  seatOf: (ply) => seatOf(moves, ply),
              })
            : null;
        const graph = drawn && h("details", { key: "chances", class: "live-chance" }, h("summary", null, "Move by move"), drawn);
        return { graph, bar: drawChanceBar({ chance, bottom, names, colours: sideColours(board) }) };
    }
}

/**
 * The chance of the first side by ply, in percent, from the AI's searches.
 * @param {Room} room
 * @returns {(number | null)[]}
 */
export function chancesOf(room) {
    return Array.from({ length: headPly(room) + 1 }, (_, ply) => {
        const thought = room.thoughts[ply];
        const chance = thought?.withheld ? null : thought?.assessment?.chance;
        if (chance == null) return null;
        const seat = thought.seat ?? room.views[ply]?.turn ?? seatOf(room.match?.moves ?? [], ply);
        return seat === 0 ? chance : 100 - chance;
    });
}
