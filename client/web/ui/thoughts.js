/**
 * The AI's searches that are read over HTTP: of a room from before the join, and of a replay.
 *
 * @import {Room, Thought} from "../shell/model.js"
 * @import {Assessment, Info} from "../shell/protocol.js"
 */

/**
 * The room with thoughts of a match that were read over HTTP; thoughts from the socket stay, because
 * they are newer.
 * @param {Room} room
 * @param {string} match
 * @param {Record<string, Info>} infos
 * @returns {Room}
 */
export function withThoughts(room, match, infos) {
    if (room.match?.id !== match) return room;
    const seen = Object.entries(room.thoughts).filter(([ply, thought]) => !(ply in infos && thought.withheld));
    return { ...room, thoughts: { ...thoughtsOf(infos), ...Object.fromEntries(seen) } };
}

/**
 * The room with searches of a match in words, if it is the current match.
 * @param {Room} room
 * @param {string} match
 * @param {Record<string, Assessment>} assessments
 * @returns {Room}
 */
export function withAssessments(room, match, assessments) {
    return room.match?.id === match ? { ...room, thoughts: assessed(room.thoughts, assessments) } : room;
}

/**
 * Thoughts with their words, where they had none.
 * @param {Record<number, Thought>} thoughts
 * @param {Record<string, Assessment>} assessments
 * @returns {Record<number, Thought>}
 */
export function assessed(thoughts, assessments) {
    const found = Object.entries(assessments).flatMap(([ply, assessment]) => {
        const thought = thoughts[Number(ply)];
        return thought && thought.state === "done" ? [[ply, { ...thought, assessment }]] : [];
    });
    return { ...thoughts, ...Object.fromEntries(found) };
}

/**
 * @param {Record<string, Info>} infos
 * @returns {Record<number, Thought>}
 */
export function thoughtsOf(infos) {
    return Object.fromEntries(
        Object.entries(infos).map(([ply, info]) => [
            Number(ply),
            {
                ...info,
                moves: info.moves ?? [],
                warming: info.warming ?? false,
                value: info.value ?? "",
                log: info.log ?? "",
                seat: null,
                state: "done",
                ready: null,
                assessment: null,
                withheld: "",
            },
        ]),
    );
}
