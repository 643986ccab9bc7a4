/**
 * Tells people of the same name in a room apart: "Ada", "Ada (2)".
 *
 * @import {Room} from "../../shell/model.js"
 */

/**
 * For each identity in the room, what to add to the name: nothing, or " (2)" if one other person of
 * that name comes first. The order is that of the seats, then of the lines of chat. Neither case nor
 * joiners make a difference.
 * @param {Pick<Room, "seats" | "chat">} room
 * @returns {Map<string, string>}
 */
export function nameMarks({ seats, chat }) {
    const seated = seats.flatMap((occupant) => {
        if (!occupant) return [];
        return occupant.kind === "ai" ? (occupant.kept_for ?? []) : occupant;
    });
    /** @type {Map<string, string>} */
    const marks = new Map();
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { identity, name } of [...seated, ...chat]) {
        if (!identity || marks.has(identity)) continue;
        const key = name.replace(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC").toLowerCase();
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        marks.set(identity, count === 1 ? "" : ` (${count})`);
    }
    return marks;
}
