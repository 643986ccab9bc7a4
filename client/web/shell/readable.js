/**
 * Checks the fields of a room's events. Pure.
 *
 * @import {EventMessage, HiddenMessage} from "./protocol.js"
 */

/**
 * Whether the event's fields have the types that this client expects. A newer server may send
 * others.
 * @param {EventMessage | HiddenMessage} event
 */
export function isReadable(event) {
    switch (event.kind) {
        case "configured":
            return typeof event.thinking === "string";
        case "seat_taken":
        case "ai_took_over":
        case "player_returned":
            return Number.isInteger(event.seat) && typeof event.occupant?.name === "string";
        case "renamed":
        case "muted":
        case "unmuted":
            return [event.identity, event.name].every((text) => typeof text === "string");
        case "seat_left":
        case "offered":
        case "declined":
            return Number.isInteger(event.seat);
        case "started":
            return Number.isInteger(event.number) && Array.isArray(event.seats);
        case "moved":
            return Number.isInteger(event.ply) && typeof event.move === "string";
        case "took_back":
            return Number.isInteger(event.to_ply);
        case "finished":
            return (
                [event.how, event.reason].every((text) => typeof text === "string") &&
                (event.points == null || (Array.isArray(event.points) && event.points.length === 2))
            );
        case "said":
            return [event.name, event.text].every((text) => typeof text === "string");
        default:
            return true;
    }
}
