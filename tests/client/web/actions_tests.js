import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { drawActions, drawSeatActions } from "/client/web/pages/room/actions.js";
import { render } from "/client/web/shell/elements.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const AI = { identity: "ai", name: "AI level 1", kind: "ai", level: 1 };
const OVER = { winner: null, how: "agreement", reason: "both sides agreed to it" };

/** Returns Ada's model of a room in which `may` lists her permitted commands. */
function roomWith({ may, seats = [ADA, BEN], match = {}, offers = [] }) {
    const fullMatch = match && { id: "m", number: 1, start: "", rules: "", seats, moves: [], ...match };
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "zoe", levels: 3 }, may },
        { t: "snapshot", room: "r", v: 9, seats, match: fullMatch, offers },
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

/** Returns the texts of the elements that `draw` makes for a room. */
function textsOf(draw, state) {
    const model = roomWith(state);
    const parent = document.createElement("div");
    render(parent, draw({ model, command: async () => null }, model.room));
    const elements = parent.querySelectorAll("button, a, .muted");
    return [...elements].map((element) => element.ariaLabel ?? element.textContent);
}

const actions = (state) => textsOf((app, room) => drawActions(app, room, { actionToConfirm: null, setActionToConfirm() {} }), state);
const seatActions = (state) => [0, 1].map((seat) => textsOf((app, room) => drawSeatActions(app, room, seat), state));

test("the buttons of a running match are those that the server permits", () => {
    assertEqual(actions({ may: [] }), []);
    assertEqual(actions({ may: ["resign", "abort", "offer_draw"] }), ["Abort"]);
    assertEqual(actions({ may: ["resign", "offer_draw"] }), ["Offer a draw", "Resign"]);
    assertEqual(actions({ may: ["resign"] }), ["Resign"]);
    assertEqual(actions({ may: ["resign", "decline"], offers: [0] }), ["Draw offered", "Resign"]);
    const offered = { may: ["resign", "offer_draw", "accept", "decline"], offers: [1] };
    assertEqual(actions(offered), ["Accept the draw", "Decline", "Resign"]);
});

test("the buttons after a match are those that the server permits", () => {
    const match = { over: OVER };
    assertEqual(actions({ match, may: ["stand"] }), ["Replay"]);
    assertEqual(actions({ match, may: ["stand", "rematch"] }), ["Offer a rematch", "Replay"]);
    assertEqual(actions({ match, may: ["rematch"], seats: [AI, AI] }), ["Play again", "Replay"]);
    assertEqual(actions({ match, may: ["decline"], offers: [0] }), ["Rematch offered", "Withdraw", "Replay"]);
    const offered = { match, may: ["rematch", "accept", "decline"], offers: [1] };
    assertEqual(actions(offered), ["Accept the rematch", "Decline", "Replay"]);
});

test("an offer that is over is not shown, even before the new list of permitted commands arrives", () => {
    const may = ["resign", "offer_draw", "accept", "decline"];
    assertEqual(actions({ match: { over: OVER }, may }), ["Replay"]);
    assertEqual(actions({ may }), ["Offer a draw", "Resign"]);
});

test("the buttons of a seat are those that the server permits", () => {
    assertEqual(seatActions({ may: [] }), [[], []]);
    assertEqual(seatActions({ may: ["stand"] }), [["Leave the seat"], []]);
    assertEqual(seatActions({ may: ["stand", "add_ai"], seats: [ADA, null] }), [["Leave the seat"], ["Add AI"]]);
    assertEqual(seatActions({ may: ["sit", "add_ai"], seats: [null, BEN] }), [["Sit here", "Add AI"], []]);
    assertEqual(seatActions({ may: ["remove_ai"], seats: [AI, AI] }), [["Remove the AI"], ["Remove the AI"]]);
});
