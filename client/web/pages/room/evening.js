/**
 * The matches of a room, of all its games, with their results and links to their replays. The page loads
 * this module when somebody asks for them.
 *
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { listRoomMatches } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { openDialog } from "../../ui/dialogs.js";
import { drawMatch } from "../../ui/matches/matches.js";

/**
 * Opens the list. A link in it closes it.
 * @param {Room} room
 * @param {Content} score the score of the players of now
 */
export async function openEvening(room, score) {
    const [{ matches }] = await Promise.all([
        listRoomMatches(room.id),
        loadStyleSheet("ui/matches/matches.css"),
        loadStyleSheet("pages/room/evening.css"),
    ]);
    // A match that ended before its first move has nothing to replay.
    const played = matches.filter(({ over, plies }) => !over || plies > 0);
    const leave = (/** @type {Event} */ { target, currentTarget }) => {
        if (target instanceof Element && currentTarget instanceof Element && target.closest("a"))
            currentTarget.closest("dialog")?.close();
    };
    void openDialog({
        title: "The matches of this room",
        name: "evening",
        content: [
            score,
            h("p", { class: "muted" }, "Each opens its replay. Matches that ended before a move are not listed."),
            h("ol", { class: "list matches", onclick: leave }, played.map((match) => drawMatch(match, Date.now()))),
        ],
        buttons: h("button", { class: "main", value: "", autofocus: true }, "Close"),
    });
}
