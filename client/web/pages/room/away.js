/**
 * Where an absent player is, in the words of the bars, the log and the claims.
 *
 * @import {Room} from "../../shell/model.js"
 */

/**
 * Where a player is who is not in the room: "has gone".
 * @param {Room["presence"]} presence
 * @param {number} seat
 */
export function awayText(presence, seat) {
    return presence?.elsewhere.includes(seat) ? "is on another page of this server" : "has gone";
}
