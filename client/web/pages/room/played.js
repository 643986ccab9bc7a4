/**
 * Keeps the game that is played next in a room for the lobby, which offers the latest ones again. The
 * page loads this module with such a match.
 *
 * @import {Model} from "../../shell/model.js"
 * @import {Occupant} from "../../shell/protocol.js"
 */

import { isSame, keepChoices, readKept } from "../../ui/matches/kept.js";
import { parseStrategy, strategyChoice } from "../../shell/words.js";
import { isOneScreen, mySeat } from "./viewer.js";

/**
 * Keeps what the viewer plays as the latest choices, with what they chose the last time against such an
 * opponent. In a rematch only the sides are others: then the choices are those of before.
 * @param {Model} model
 */
export function keepPlayed(model) {
    const { room } = model;
    const seat = mySeat(model);
    if (seat === null || !room?.description) return;
    const { game, options } = room.description;
    const other = room.seats[1 - seat];
    const ai = other?.kind === "ai" && !other.kept_for ? other : null;
    const opponent = isOneScreen(room) ? "screen" : ai ? "ai" : "friend";
    const kept = readKept();
    const { clock: _, ...before } = kept.find((each) => each.opponent === opponent) ?? {};
    const played = {
        ...before,
        game,
        options,
        opponent,
        ...(ai && { level: levelOf(ai, before.level ?? "") }),
        ...(room.clock !== null && { clock: room.clock }),
    };
    const same = kept.find((each) => isSame({ ...each, side: "" }, { ...played, side: "" }));
    keepChoices({ ...played, side: same?.side ?? String(seat) });
}

/**
 * The choice of an AI.
 * @param {Occupant} ai
 * @param {string} before the last choice, which may leave the depth of a strategy open
 */
function levelOf({ level, persona, strategy, depth }, before) {
    if (!strategy) return persona ?? String(level ?? 1);
    return parseStrategy(before)?.strategy === strategy ? before : strategyChoice(strategy, depth ?? null);
}
