/**
 * A finished match as an entry of a list: the game, the players, the score, and a link to its replay.
 * This folder is a file of its own on the line, so that the list of replays loads no board.
 *
 * @import {MatchSummary} from "../../shell/api.js"
 */

import { h } from "../../shell/elements.js";
import { controlText } from "../clock/clock.js";
import { agoText, playersOfSeat, pointsText } from "../../shell/words.js";

/**
 * A finished match as an entry of a list.
 * @param {MatchSummary} match
 * @param {number} now_ms
 */
export function drawMatch(match, now_ms) {
    const players = match.seats.map((_, seat) =>
        h(
            "span",
            { class: match.over?.winner === seat ? "player-name winner" : "player-name" },
            h("bdi", null, playersOfSeat(match, seat)),
        ),
    );
    return h(
        "li",
        { key: match.match },
        h(
            "a",
            { href: `/match/${match.match}` },
            h("span", { class: "game" }, match.title),
            h(
                "span",
                { class: "players" },
                players[0] ?? null,
                h("b", { class: "score" }, match.over ? pointsText(match.over) : "–"),
                players[1] ?? null,
            ),
            h("span", { class: "muted reason" }, match.over?.reason ?? ""),
            h("span", { class: "muted length" }, [match.length, match.clock && controlText(match.clock)].filter(Boolean).join(" · ")),
            h(
                "time",
                { class: "muted", datetime: new Date(match.finished_ms ?? match.started_ms).toISOString() },
                agoText(match.finished_ms ?? match.started_ms, now_ms),
            ),
        ),
    );
}
