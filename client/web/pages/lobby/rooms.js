/**
 * The list of public rooms: first those that wait for a player, then those with a running match.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {RoomSummary} from "../../shell/protocol.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Model} from "../../shell/model.js"
 */

import { drawThumbnail } from "./form.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { occupantName, optionsText } from "../../shell/words.js";

/**
 * @param {Model} model
 * @param {GameDescription[]} games
 * @param {(room: string) => void} join
 * @returns {VNode}
 */
export function drawRooms({ lobby, you }, games, join) {
    const rooms = Object.values(lobby ?? {}).sort((a, b) => b.created_ms - a.created_ms);
    const open = rooms.filter((room) => room.state === "open");
    const playing = rooms.filter((room) => room.state === "playing");
    const noOpenRooms = h(
        "p",
        { class: "muted empty" },
        lobby === null ? "Loading the rooms…" : "No room waits for a player. Create one, or watch a match.",
    );
    const draw = (/** @type {RoomSummary} */ room) =>
        drawRoom(
            room,
            games.find((game) => game.id === room.game),
            you?.identity,
            join,
        );
    return h(
        "section",
        { class: "rooms", "aria-label": "Public rooms" },
        h("h2", null, "Waiting for a player"),
        open.length > 0 ? h("ul", { class: "card list open", key: "open" }, open.map(draw)) : noOpenRooms,
        h("h2", null, "Being played"),
        playing.length > 0
            ? h("ul", { class: "card list playing", key: "playing" }, playing.map(draw))
            : h("p", { class: "muted empty", key: "none" }, "No match is being played."),
    );
}

/**
 * @param {RoomSummary} room
 * @param {GameDescription | undefined} game
 * @param {string | undefined} you
 * @param {(room: string) => void} join
 */
function drawRoom(room, game, you, join) {
    const options = optionsText(room.options);
    const isMine = room.seats.some((occupant) => occupant?.identity === you);
    const watching = room.watching ?? 0;
    const facts = [options, room.length ?? ""].filter(Boolean).join(" · ");
    const isJoinable = room.state === "open" && !isMine && room.seats.some((occupant) => occupant === null);
    return h(
        "li",
        { key: room.room, "data-room": room.room },
        h(
            "a",
            { href: `/room/${room.room}` },
            game ? drawThumbnail(game) : null,
            h("span", { class: "room-title" }, h("b", { class: "game" }, room.title), h("span", { class: "muted" }, facts)),
            h(
                "span",
                { class: "players" },
                room.seats.map((occupant) =>
                    h("span", { class: occupant ? "player-name" : "player-name nobody" }, occupantName(occupant)),
                ),
            ),
            watching > 0 ? h("span", { class: "watching muted", title: "Spectators" }, icon("eye"), watching) : null,
        ),
        isJoinable
            ? h(
                  "button",
                  { class: "main small", "aria-label": `Join ${room.title}`, onclick: () => join(room.room) },
                  "Join",
              )
            : h("span", { class: "hint muted" }, isMine ? "Yours" : "Watch"),
    );
}
