import { SentMove } from "/client/web/pages/room/sent-move.js";
import { assertEqual, flushPromises, test } from "./testing.js";

/** Sends a move that the server has not answered; `wait` runs the timers, and `answer` answers. */
function sendMove() {
    const timers = [];
    const setTimeout = window.setTimeout;
    window.setTimeout = (call) => timers.push(call);
    const app = { update() {}, session: { status: { state: "open" } } };
    let answer;
    app.command = () => new Promise((resolve) => (answer = resolve));
    const sent = new SentMove(app);
    void sent.send("r", "m", 3, { id: "e4" });
    window.setTimeout = setTimeout;
    return { app, sent, wait: () => timers.forEach((call) => call()), answer: (ack) => answer(ack) };
}

test("a move that the server has not confirmed says so, and that it waits for the connection", () => {
    const { app, sent, wait } = sendMove();
    assertEqual([sent.move.id, sent.text()], ["e4", ""]);
    wait();
    assertEqual(sent.text(), "Sending your move…");
    app.session.status = { state: "lost" };
    assertEqual(sent.text(), "Your move is sent when the connection is back");
    sent.forgetUnlessOpen({ match: { id: "m", moves: [1, 2, 3] } });
    assertEqual(sent.move.id, "e4");
    sent.forgetUnlessOpen({ match: { id: "m", moves: [1, 2, 3, 4] } });
    assertEqual([sent.move, sent.text()], [null, ""]);
});

test("a refused move is forgotten", async () => {
    const { sent, answer } = sendMove();
    answer(null);
    await flushPromises();
    assertEqual(sent.move, null);
});
