import { CommandList } from "/client/web/pages/room/chat-commands.js";
import { ChatExtras, withCommands } from "/client/web/pages/room/chat-extras.js";
import { drawChat } from "/client/web/pages/room/chat.js";
import { h, render } from "/client/web/shell/elements.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const HINT = { v: 5, text: "/hint", ...ADA };
const WAITING = "Plyroom is thinking…";

/** A page of Ada's: its extras of the chat, its status and the commands that it sends. */
function pageOfAda({ isReloaded = false } = {}) {
    if (!isReloaded) sessionStorage.clear();
    const page = { session: { status: { state: "open" } }, model: { you: ADA, room: null }, sent: [] };
    page.update = () => {};
    page.command = async (command) => page.sent.push(command);
    page.extras = new ChatExtras(page);
    return page;
}

const room = (fields = {}) => ({ id: "r", v: 5, chat: [HINT], answers: [], muted: [], seats: [ADA, BEN], may: [], ...fields });

/** The texts of the bot's answers, and of the note that it is at work, that a page draws. */
function answersOf(page, shown) {
    const parent = document.createElement("div");
    render(parent, h("div", null, page.extras.drawAnswers(shown).map(({ drawn }) => drawn)));
    return [...parent.querySelectorAll(".said, .event")].map((element) => element.textContent);
}

test("the page that sent a command waits for its answer, and no other page of the same person", () => {
    const [sender, other] = [pageOfAda(), pageOfAda()];
    const onAck = sender.extras.onSend();
    assertEqual(answersOf(sender, room()), []);
    onAck({ t: "ack", id: "1", v: 5 });
    assertEqual([answersOf(sender, room()), answersOf(other, room())], [[WAITING], []]);
    const answered = room({ answers: [{ v: 5, at_v: 5, ply: 0, text: "Play e4." }] });
    assertEqual([answersOf(sender, answered), answersOf(other, answered)], [["Play e4."], ["Play e4."]]);
});

test("after a reload the tab has the answers that it showed, of this room and person only", () => {
    const first = pageOfAda();
    const answers = [{ v: 4, at_v: 4, ply: 0, text: "Play e4." }, { v: 5, at_v: 5, ply: 0, text: "Play d4." }];
    answersOf(first, room({ answers: answers.slice(0, 1) }));
    assertEqual(answersOf(first, room({ answers })), ["Play e4.", "Play d4."]);
    assertEqual(answersOf(first, room()), ["Play e4.", "Play d4."]); // a snapshot has no answers
    const reload = (fields, you = ADA) => {
        const page = pageOfAda({ isReloaded: true });
        page.model = { ...page.model, you };
        return answersOf(page, room(fields));
    };
    const next = { v: 5, at_v: 5, ply: 1, text: "Play c4." };
    assertEqual(reload({ answers: [next] }), ["Play e4.", "Play d4.", "Play c4."]);
    assertEqual([reload({ v: 4 }), reload({ id: "s" }), reload({}, BEN)], [["Play e4."], [], []]);
});

test("no answer is read aloud again when others follow, and the last ones survive a reload", () => {
    const page = pageOfAda();
    const parent = document.createElement("div");
    const answers = Array.from({ length: 301 }, (_, i) => ({ v: 5, at_v: 5, ply: 0, text: `${i}` }));
    const at = (count) => {
        render(parent, page.extras.drawAnswers(room({ answers: answers.slice(Math.max(0, count - 300), count) })).map(({ drawn }) => drawn));
        return [...parent.children];
    };
    const before = at(40);
    const after = at(41);
    assertEqual([after.length, before.every((each, i) => each === after[i])], [41, true]);
    assertEqual(at(301).length, 300);
    assertEqual(answersOf(pageOfAda({ isReloaded: true }), room()).length, 40);
});

test("a line that is no command or that was refused is not waited for", () => {
    for (const [line, ack] of [
        [{ ...HINT, text: "hello" }, { v: 5 }],
        [HINT, null],
    ]) {
        const page = pageOfAda();
        page.extras.onSend()(ack);
        assertEqual(answersOf(page, room({ chat: [line] })), []);
    }
});

test("an answer for everyone ends the waiting", () => {
    const page = pageOfAda();
    page.extras.onSend()({ v: 5 });
    assertEqual(answersOf(page, room({ chat: [HINT, { v: 6, by: "bot", answers: 5, text: "I saw it." }] })), []);
});

test("after a lost connection no answer is waited for", () => {
    const page = pageOfAda();
    page.extras.onSend()({ v: 5 });
    const late = page.extras.onSend();
    page.session.status.state = "lost";
    assertEqual(answersOf(page, room()), []);
    page.session.status.state = "open";
    late({ v: 5 });
    assertEqual(answersOf(page, room()), []);
});

test("the host of two people sets whether the bot may help, others read it", () => {
    const drawSetting = (shown) => {
        const page = pageOfAda();
        const parent = document.createElement("div");
        render(parent, h("div", null, page.extras.drawHelpSetting(shown)));
        return { page, parent, box: parent.querySelector("input") };
    };
    const { page, parent, box } = drawSetting(room({ help: false, thinking: "after", may: ["configure"] }));
    document.body.append(parent); // without a page there is no event "change"
    box.click();
    parent.remove();
    assertEqual(page.sent, [{ t: "configure", room: "r", thinking: "after", help: true }]);
    const read = (fields) => drawSetting(room(fields)).parent.textContent;
    assertEqual([read({ help: true }), read({ help: false })], ["The bot may help both players.", ""]);
    assertEqual(read({ help: true, seats: [ADA, { kind: "ai" }], may: ["configure"] }), "");
});

const COMMANDS = [["why", ["match", "help", "thoughts"]], ["best", ["match", "help"]], ["draw", ["seat"]], ["fly", ["wings"]], ["help"]];

/** What a slash opens, with the needs of some commands, for Ada or for a spectator in a room. */
async function commandsFor(shown, you = ADA, commands = COMMANDS) {
    const page = { ...pageOfAda(), model: { you, room: shown } };
    window.fetch = async (path) => Response.json({ lacks: `${path}`.endsWith("?game=ttt") ? ["pass"] : [], commands: commands.map(([name, needs]) => ({ name, about: "does it", needs })) });
    const list = new CommandList(page);
    list.onInput("/");
    await new Promise((resolve) => (page.update = resolve)); // the commands have arrived
    const parent = document.createElement("div");
    render(parent, h("div", null, list.draw()));
    return [...parent.querySelectorAll("li")].map((line) => [line.classList.contains("refused"), line.textContent]);
}

test("the list of commands begins with what works now, and says why the others do not", async () => {
    const people = { match: { over: null, seats: [ADA, BEN] }, thoughts: {}, help: false };
    const [draw, fly, help] = ["draw", "fly", "help"].map((name) => [false, `/${name} does it`]);
    const noHelp = (name) => [true, `/${name} does it (no help in this match)`];
    assertEqual(await commandsFor(room(people)), [draw, fly, help, noHelp("why"), noHelp("best")]);
    const best = [false, "/best does it"];
    const noAi = [true, "/why does it (no AI plays here)"];
    assertEqual(await commandsFor(room({ ...people, help: true })), [best, draw, fly, help, noAi]);
    const ai = { match: { over: null, seats: [ADA, { kind: "ai" }] }, thoughts: {} };
    const spectator = [true, "/draw does it (for players only)"];
    assertEqual(await commandsFor(room(ai), { identity: "kim" }), [[false, "/why does it"], best, fly, help, spectator]);
    const level = (fields) => commandsFor(room({ ...people, ...fields }), ADA, [["level", ["ai"]], ["help"]]);
    assertEqual([await level({}), (await level({ seats: [ADA, { kind: "ai" }] }))[0]], [[help, [true, "/level does it (no AI plays here)"]], [false, "/level does it"]]);
    const noMatch = (name) => [true, `/${name} does it (there is no match yet)`];
    const description = { game: "ttt" };
    const noPass = [true, "/turn does it (no turn can be passed in this game)"];
    const passing = (fields) => commandsFor(room({ ...people, help: true, ...fields }), ADA, [["turn", ["pass"]], ["help"]]);
    assertEqual([await passing({ description }), await passing({ description: { game: "chess" } })], [[help, noPass], [[false, "/turn does it"], help]]);
    assertEqual(await commandsFor(room({ match: null, thoughts: {} })), [draw, fly, help, noMatch("why"), noMatch("best")]);
});

test("the commands that an answer lists stand out", () => {
    const parent = document.createElement("div");
    render(parent, h("p", null, withCommands("You may ask:\n/why says why\n/help lists\nand/or not")));
    assertEqual([...parent.querySelectorAll("b")].map((bold) => bold.textContent), ["/why", "/help"]);
    assertEqual(parent.textContent, "You may ask:\n/why says why\n/help lists\nand/or not");
});

test("the bot introduces itself first, and a private line says that it is one, even without the extras", () => {
    const lines = [{ v: 3, text: "hello", ...BEN }, { ...HINT, to: "author" }, { v: 6, text: "psst", to: "spectators", ...BEN }];
    const parent = document.createElement("div");
    const muted = { has: () => false };
    const chat = { room: room({ chat: lines }), log: [], error: null, isSpectator: false, marks: new Map(), muted, me: "ada" };
    for (const extras of [pageOfAda().extras, null]) {
        render(parent, drawChat({ ...chat, extras, clearError: () => {}, send: async () => true, onScroll: () => {}, redraw: () => {} }));
        const shown = [...parent.querySelectorAll(".lines > p")];
        assertEqual(shown[0].textContent.startsWith("Plyroom I am Plyroom, the room's bot."), true);
        assertEqual(shown.slice(1).map((line) => line.querySelector(".badge")?.textContent ?? null), [null, "private", "to spectators"]);
    }
});

test("an answer never stands above its question, and what is no event stands in the order of time", () => {
    const page = pageOfAda();
    const parent = document.createElement("div");
    const chat = { error: null, isSpectator: false, marks: new Map(), muted: { has: () => false }, me: "ada", clearError: () => {}, onScroll: () => {} };
    const texts = (fields, log) => {
        render(parent, drawChat({ ...chat, extras: page.extras, room: room(fields), log }));
        return [...parent.querySelectorAll(".lines > :not(.introduction)")].map((line) => line.lastElementChild?.textContent ?? line.textContent);
    };
    const answers = [{ v: 5, at_v: 4, text: "early" }];
    assertEqual(texts({ answers }, []), ["/hint", "early"]);
    const left = { v: 5, key: "log 0", text: "Ben has gone", at: Date.now() + 1 };
    assertEqual(texts({ answers }, [left]), ["/hint", "early", "Ben has gone"]);
    assertEqual(texts({ answers }, [{ ...left, at: 1 }]), ["/hint", "Ben has gone", "early"]);
});

test("a new answer is shown from its beginning, once, and other lines from the end", () => {
    const { extras } = pageOfAda();
    const lines = document.createElement("div");
    lines.style.cssText = "height:100px;overflow:auto";
    const add = (name) => {
        const line = document.createElement("p");
        Object.assign(line.style, { height: "300px", margin: 0 });
        line.className = name;
        lines.append(line);
    };
    document.body.replaceChildren(lines);
    const tops = [];
    const scroll = (isAtEnd = true) => (extras.scroll(lines, isAtEnd), tops.push(lines.scrollTop));
    for (const name of ["", "answer", ""]) {
        add(name);
        scroll();
        lines.scrollTop += 20;
        scroll();
    }
    assertEqual(tops, [200, 200, 300, 320, 800, 800]);
});

test("lines that are scrolled back stay, a new list begins at its end, and one of another size is drawn", async () => {
    const page = pageOfAda();
    const open = () => {
        const lines = document.createElement("div");
        lines.style.cssText = "height:100px;overflow:auto";
        lines.innerHTML = "<p style='height:300px;margin:0'></p>";
        document.body.replaceChildren(lines);
        return lines;
    };
    const first = open();
    page.extras.scroll(first, true);
    first.scrollTop = 20;
    page.extras.scroll(first, false);
    const afterOutage = open();
    page.extras.scroll(afterOutage, false);
    assertEqual([first.isConnected, afterOutage.scrollTop], [false, 200]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const resized = new Promise((resolve) => (page.update = resolve));
    afterOutage.style.height = "60px";
    await resized;
    page.extras.scroll(afterOutage, true);
    assertEqual(afterOutage.scrollTop, 240);
    afterOutage.scrollTop = 20;
    page.extras.scroll(afterOutage, false);
    assertEqual(afterOutage.scrollTop, 20);
});

test("the field in which you write stays in view when a hint moves it, and you may scroll away", () => {
    const { extras } = pageOfAda();
    document.body.innerHTML = "<div id='above'></div><div class='lines'><p></p></div><form id='say'><input></form><div style='height:3000px'></div>";
    const [above, lines, form, field] = ["#above", ".lines", "#say", "#say input"].map((name) => document.querySelector(name));
    lines.style.cssText = "height:60px;overflow:auto";
    const isInView = () => form.getBoundingClientRect().top >= 0 && form.getBoundingClientRect().bottom <= innerHeight;
    const moved = (height) => {
        above.style.height = `${height}px`;
        scrollTo(0, 0);
        extras.scroll(lines, true);
        return isInView();
    };
    assertEqual([moved(0), moved(innerHeight)], [true, false]);
    field.focus({ preventScroll: true });
    assertEqual([moved(innerHeight + 40), moved(innerHeight + 40)], [true, false]);
    document.body.replaceChildren();
    scrollTo(0, 0);
});

test("a spectator chooses the readers of a line even if the extras have not arrived", () => {
    const sent = [];
    const chat = { room: room(), extras: null, log: [], error: null, isSpectator: true, marks: new Map(), muted: { has: () => false }, me: "ada" };
    const send = async (...line) => sent.push(line) > 0;
    render(document.body, drawChat({ ...chat, send, clearError: () => {}, onScroll: () => {}, redraw: () => {} }));
    const field = document.querySelector("#say input");
    const choice = document.querySelector("select");
    for (const to of ["room", "spectators"]) {
        choice.value = to;
        field.value = "psst";
        document.querySelector("#say").requestSubmit();
    }
    assertEqual(sent, [["psst", "room"], ["psst", "spectators"]]);
});

test("the buttons to mute someone take no row of their own", async () => {
    const links = ["shell/base.css", "pages/room/chat-extras.css"].map((path) => Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/client/web/${path}` }));
    const loaded = links.map((link) => new Promise((resolve) => (link.onload = resolve)));
    document.head.append(...links);
    await Promise.all(loaded);
    const page = pageOfAda();
    const chat = [{ v: 3, text: "Red looks strong!", ...BEN }];
    const host = { ...room({ chat }), description: { host: "ada" } };
    const mute = page.extras.drawMute(chat[0], { room: host, me: "ada", marks: new Map(), muted: { has: () => false }, redraw: () => {} });
    const lines = h("div", { class: "lines" }, h("p", null, "Red looks strong!", mute), h("p", null, "Red looks strong!"));
    render(document.body, h("section", { class: "chat", style: "width: 210px" }, lines));
    const [withButtons, without] = [...document.querySelectorAll(".lines p")].map((line) => line.clientHeight);
    assertEqual([document.querySelectorAll(".mute").length, withButtons], [2, without]);
    links.forEach((link) => link.remove());
});

test("a person is muted at their last line, by oneself and by the host for everyone", () => {
    const cleo = { identity: "cleo", name: "Cleo" };
    const chat = [{ v: 3, text: "hi", ...BEN }, { v: 4, text: "hello", ...BEN }, { v: 5, text: "me", identity: "ada", name: "Ada" }, { v: 6, text: "x", ...cleo }];
    const added = [];
    const sent = [];
    const people = { has: (identity) => identity === "cleo", add: (person) => added.push(person.name), remove: (identity) => added.push(identity) };
    const host = { ...room({ chat }), description: { host: "ada" }, muted: [cleo] };
    const app = { model: { you: { identity: "ada" }, room: host }, command: async (command) => void sent.push(command), update: () => {} };
    const context = { room: host, me: "ada", marks: new Map(), muted: people, redraw: () => {} };
    const extras = new ChatExtras(app);
    const parent = document.createElement("div");
    const buttonsOf = (line) => {
        render(parent, extras.drawMute(line, context));
        return [...parent.querySelectorAll("button")];
    };
    const textsOf = (line) => buttonsOf(line).map(({ textContent }) => textContent);
    assertEqual(chat.map(textsOf), [[], ["Mute", "Mute for all"], [], ["Mute"]]);
    for (const button of buttonsOf(chat[1])) button.click();
    render(parent, extras.drawUnheard(context));
    parent.querySelector("button").click();
    assertEqual([added, sent], [["Ben", "cleo"], [{ t: "mute", room: host.id, identity: "ben" }]]);
});
