import { Invitation } from "/client/web/pages/room/invitation.js";
import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { render } from "/client/web/shell/elements.js";
import { Share } from "/client/web/ui/share.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };

/** Returns the host's invitation while the server answers the request for links with `respond`. */
async function invitation(respond, seats = [ADA, null]) {
    const fetch = window.fetch;
    window.fetch = async () => respond();
    try {
        const share = new Share("Link", "/room/r", () => {}, () => {});
        await share.load();
        const model = [
            { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
            { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", levels: 3, view: null }, may: [] },
            { t: "snapshot", room: "r", v: 9, seats, match: null },
        ].reduce(apply, follow(EMPTY_MODEL, "r"));
        const parent = document.createElement("div");
        const card = await new Promise((resolve) => {
            const app = { model, update: () => resolve(made) }; // called when what draws the code is there
            const made = new Invitation(app, share);
        });
        render(parent, card.draw(model.room, () => null));
        return parent;
    } finally {
        window.fetch = fetch;
    }
}

const answer = (links, more = {}) => () =>
    new Response(JSON.stringify({ links, ...more }), { headers: { "Content-Type": "application/json" } });
const facts = (card) => ({
    code: card.querySelectorAll(".qr").length,
    promised: card.textContent.includes("scan the code"),
    link: card.querySelector(".share input")?.value ?? null,
});

test("the invitation promises a code where there is one", async () => {
    const card = await invitation(answer(["http://10.0.0.7:8000/room/r", "http://10.0.0.8:8000/room/r"]));
    assertEqual(facts(card), { code: 1, promised: true, link: "http://10.0.0.7:8000/room/r" });
});

test("a server without a network has a link and no code", async () => {
    const card = await invitation(answer([]));
    assertEqual(facts(card), { code: 0, promised: false, link: `${location.origin}/room/r` });
    assertEqual(["Only this computer can open the link", "Send the link"].map((text) => card.textContent.includes(text)), [true, false]);
});

test("the invitation says when the match starts, and to the guest the goal and whether the host is there", async () => {
    const links = answer(["http://10.0.0.7:8000/room/r"]);
    const cards = [await invitation(links), await invitation(links, [null, null])].map(({ textContent }) => textContent);
    const starts = ["as soon as your friend presses Play", "when both seats are taken"];
    assertEqual(cards.map((card) => starts.map((each) => card.includes(each))), [[true, false], [false, true]]);
    const guest = (seats, present) => {
        const model = [
            { t: "welcome", protocol: 1, identity: "ben", name: "Ben", epoch: "e", at: 1 },
            { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", goal: "Take all.", levels: 3, view: null }, may: ["sit"] },
            { t: "snapshot", room: "r", v: 9, seats, match: null },
            { t: "presence", room: "r", seats: present, watching: 1 },
        ].reduce(apply, follow(EMPTY_MODEL, "r"));
        const parent = document.createElement("div");
        render(parent, new Invitation({ model, update() {} }, {}).draw(model.room, () => null));
        return ["Take all.", "Ada is not in the room now.", "starts when the other side is taken"].map((text) => parent.textContent.includes(text));
    };
    assertEqual(guest([ADA, null], [true, false]), [true, false, false]);
    assertEqual(guest([ADA, null], [false, false]), [true, true, false]);
    assertEqual(guest([null, null], [false, false]), [true, false, true]);
});

test("the invitation names the clock to the guest", () => {
    const model = [
        { t: "welcome", protocol: 1, identity: "ben", name: "Ben", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", title: "Chess", levels: 3, view: null }, may: ["sit"] },
        { t: "snapshot", room: "r", v: 9, seats: [ADA, null], match: null },
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
    const text = (clock) => {
        const parent = document.createElement("div");
        render(parent, new Invitation({ model, update() {} }, {}).draw(model.room, () => null, clock));
        return parent.textContent;
    };
    assertEqual([text("5+3").includes("Time for each side: 5+3."), text("").includes("Time")], [true, false]);
});

test("where the server knows why there is no link, the invitation says it", async () => {
    const card = await invitation(answer([], { advice: "Its operator can set PLYROOM_URL." }));
    assertEqual(facts(card), { code: 0, promised: false, link: `${location.origin}/room/r` });
    assertEqual(card.textContent.includes("Its operator can set PLYROOM_URL."), true);
    assertEqual(card.textContent.includes("Only this computer"), false);
});

test("without an answer the link is this page's own", async () => {
    const card = await invitation(() => {
        throw new TypeError("no network");
    });
    assertEqual(facts(card), { code: 1, promised: true, link: `${location.origin}/room/r` });
});
