/**
 * Whether what the bot has answered to you alone still fits the board.
 *
 * @import {BoardArrow} from "../../board/arrows.js"
 * @import {MatchState} from "../../shell/protocol.js"
 * @import {Room} from "../../shell/model.js"
 */

/**
 * Whether a match stands where it stood before: it is the same one, with the same moves.
 * @param {MatchState | null} before
 * @param {MatchState | null} after
 */
export function isSamePosition(before, after) {
    if (!before || before.id !== after?.id || before.moves.length !== after.moves.length) return false;
    return before.moves.every(({ move }, ply) => move === after.moves[ply]?.move);
}

/**
 * The arrows of the last answer that has some; null if the match does not stand where it stood then.
 * @param {Room} room
 * @returns {BoardArrow[] | null}
 */
export function arrowsOf({ answers, match }) {
    const answer = answers.findLast(({ arrows }) => arrows?.length);
    return answer?.arrows && isSamePosition(answer.match, match) ? answer.arrows : null;
}
