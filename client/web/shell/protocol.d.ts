// The wire, version 1. Written by `python -m tests.support.wire_files` from server/protocol/messages.py.

/** The first message of a connection. It identifies the client by its secret `token`. A client without a token is identified by the handshake's `Authorization: Bearer …` or the browser's cookie. With none of them, or with an unknown cookie, the server creates a guest and returns the guest's token once, in `welcome`. An unknown token is refused. `name` names or renames the guest; `welcome` has the name that others see: on one line, in Normalization Form C and without what nobody can see, 1 to 24 code points long. Names like those of the server, its bot, an AI, a level or a strategy are refused with `name.refused`. A person who had one earlier is shown as a guest with a number. */
export interface Hello {
    t: "hello";
    protocol: number;
    token?: string | null;
    name?: string | null;
}

/** Asks for a `pong`. Any message within 20 s keeps the connection open. */
export interface Ping {
    t: "ping";
    id?: string | null;
}

/** Creates a room. The ack carries the room's id. The match starts as soon as both seats are taken. - `start` is the text of a position from which the room's matches start, null for the game's own start. `GET /api/position` checks such a text and shows the board. - With `one_screen` the creator takes both seats, whatever `seats` says, and plays both sides. A `name` in `seats` is then that of the side, which no change of the creator's name changes. - `takeback` says whether players may take moves back. - `thinking` says who may see an AI's thinking while a match is running. - `help` says whether the room gives help with positions while two people play each other. - `clock` is the text of the time control of its matches, null for none. */
export interface Create {
    t: "create";
    id: string;
    game: string;
    options?: Record<string, string>;
    visibility?: "public" | "unlisted";
    seats?: (MySeat | OpenSeat | AiSeat)[];
    start?: string | null;
    one_screen?: boolean;
    takeback?: boolean;
    thinking?: "after" | "all" | "spectators";
    help?: boolean;
    clock?: string | null;
}

/** The creator of the room takes this seat. On one screen the seat may have a `name` of its own, for the person who plays that side. */
export interface MySeat {
    who: "me";
    name?: string | null;
}

/** The seat stays open for the first player to sit down. */
export interface OpenSeat {
    who: "open";
}

/** The AI takes this seat: at one of the game's levels, as a persona, or by a strategy. `GET /api/strategies` lists the strategies and evaluators. A strategy without a `depth` searches 3 plies deep; one without an `evaluator` has the default of the game. */
export interface AiSeat {
    who: "ai";
    level?: number | null;
    persona?: "average" | "random" | "swindler" | null;
    strategy?: string | null;
    depth?: number | null;
    evaluator?: string | null;
}

/** Follows a room, or resumes following it after a reconnect. The server answers with `ack` and `joined`, sends the missed events or a `snapshot`, and then every later event. `since` is the version of the last event that the client has. The client receives a `snapshot` when `since` is 0 or too far behind, or when `epoch` is not the server's. */
export interface Join {
    t: "join";
    id: string;
    room: string;
    since?: number;
    epoch?: string | null;
}

/** Stops following a room. A player keeps their seat. */
export interface Leave {
    t: "leave";
    id: string;
    room: string;
}

/** Takes an empty seat. */
export interface Sit {
    t: "sit";
    id: string;
    room: string;
    seat: number;
}

/** Gives up one's own seat. Refused while a match is running. */
export interface Stand {
    t: "stand";
    id: string;
    room: string;
}

/** Puts the AI on an empty seat, as the seat `ai` of `create` does. Host only. */
export interface AddAi {
    t: "add_ai";
    id: string;
    room: string;
    seat: number;
    level?: number | null;
    persona?: "average" | "random" | "swindler" | null;
    strategy?: string | null;
    depth?: number | null;
    evaluator?: string | null;
}

/** Removes the AI from a seat. Host only; refused while a match is running. */
export interface RemoveAi {
    t: "remove_ai";
    id: string;
    room: string;
    seat: number;
}

/** Chooses settings of the next matches. Host only; refused while a match is running. `thinking` says who may see an AI's thinking. `help` says whether the room gives help with positions while two people play each other; null leaves that as it is. `clock` is the text of a time control, `-` for none; null leaves that as it is. */
export interface Configure {
    t: "configure";
    id: string;
    room: string;
    thinking: "after" | "all" | "spectators";
    help?: boolean | null;
    clock?: string | null;
}

/** Plays a move. `ply` is the number of moves already played, so that a late move cannot be played in another position. `seat` is the seat that moves, null for the player's own. */
export interface Move {
    t: "move";
    id: string;
    room: string;
    ply: number;
    move: string;
    seat?: number | null;
}

/** Takes back the player's last move and the moves after it. Against an AI, and in a room for one screen, this happens at once. Another player is asked (`offered` with `takeback`), and may accept until the position changes. `ply` is the number of moves that the player has seen. The command is refused if moves were taken back since, or if it would take back a later move. */
export interface Takeback {
    t: "takeback";
    id: string;
    room: string;
    ply: number;
}

/** Resigns the running match. `seat` is the side that resigns, null for the player's own; on one screen that is the side to move. */
export interface Resign {
    t: "resign";
    id: string;
    room: string;
    seat?: number | null;
}

/** Ends the match without a result. A player may abort until both sides have moved; the host may abort when only AI seats play. */
export interface Abort {
    t: "abort";
    id: string;
    room: string;
}

/** Claims a draw under the game's rules. Only the side to move may claim; the `claim` of `turn` says whether it can. */
export interface Claim {
    t: "claim";
    id: string;
    room: string;
}

/** Offers a draw, or accepts the opponent's offer. The offer stands until the opponent moves or declines. */
export interface OfferDraw {
    t: "offer_draw";
    id: string;
    room: string;
}

/** Accepts the opponent's offer. `what` names the offer; null stands for the draw while a match is running, otherwise for the rematch, and for the takeback if nothing else is offered. `ply` is the number of moves at which a takeback was asked for, so that a late answer cannot accept another one. `next` needs `v`, the version of the event that proposed the game. */
export interface Accept {
    t: "accept";
    id: string;
    room: string;
    what?: "draw" | "next" | "rematch" | "takeback" | null;
    ply?: number | null;
    v?: number | null;
}

/** Offers another match with the sides swapped, or accepts that offer. The match starts at once when the opponent is an AI, or when the host of a match between AI seats asks. */
export interface Rematch {
    t: "rematch";
    id: string;
    room: string;
}

/** Proposes the room's next match, of any game, to the opponent. The match starts at once when the opponent is an AI, on one screen, and when the host of a match between AI seats asks. Otherwise the opponent accepts it by the version of its `offered`. A room has one proposal at a time: a new one, by either player, replaces it. - `options` are those of the game, which has defaults for the others. - `seats` has for each seat of the match the seat that its player holds now: [1, 0] swaps the sides. - `level` is that of the AI; null keeps the AI as it is, at a level that the game has. - `clock` is the text of a time control, `-` for none; null keeps that of the room. */
export interface NextGame {
    t: "next_game";
    id: string;
    room: string;
    game: string;
    options?: Record<string, string>;
    seats?: [number, number];
    level?: number | null;
    clock?: string | null;
}

/** Declines the opponent's offer, or withdraws one's own. `what` is as for `accept`. */
export interface Decline {
    t: "decline";
    id: string;
    room: string;
    what?: "draw" | "next" | "rematch" | "takeback" | null;
}

/** Claims the win of a match whose opponent has gone. `gone_ms` of `presence` says after which time the player may claim, and `may` lists the command when the player may: not before both sides have moved, nor on the player's own move. The same holds for `call_draw` and `let_ai_play`. A side that cannot win any more by the game's rules may not claim the win. No player may claim against an AI. */
export interface ClaimWin {
    t: "claim_win";
    id: string;
    room: string;
}

/** Ends a match whose opponent has gone as a draw. */
export interface CallDraw {
    t: "call_draw";
    id: string;
    room: string;
}

/** Lets the AI play on for an opponent who has gone, at the middle one of the game's levels. The AI keeps the seat for that player, who may take it back until the match ends. */
export interface LetAiPlay {
    t: "let_ai_play";
    id: string;
    room: string;
}

/** Takes one's seat back from the AI that keeps it. */
export interface ReclaimSeat {
    t: "reclaim_seat";
    id: string;
    room: string;
}

/** Gives the opponent 15 seconds more on the clock, at most eight times in a match. */
export interface AddTime {
    t: "add_time";
    id: string;
    room: string;
}

/** Sends a line of chat to the whole room, or to the spectators only. Players receive a `hidden` event for a line to the spectators. A line that equals one of the sender's last lines is refused. A line that begins with `/` is a question to the room's bot, and so are a few plain questions in a room with an AI and lines that name the bot ("@bot", "bot,"). The bot sends an `answer` to the asker, or answers all with a `said` event. A line that begins with `/` or with the bot's name goes to its author only, `to` is `author` then, unless its answer is for all; everyone else receives `hidden`. A line that names the bot after other words goes to the room. A person may ask six questions a minute that need a search, and write twenty lines that nobody else sees. */
export interface Chat {
    t: "chat";
    id: string;
    room: string;
    text: string;
    to?: "room" | "spectators";
}

/** Asks the engine for the best moves of the running match in the position at `ply`. The ack comes at once, and its `v` is null. When the search has ended, the server sends an `answer` with the version 0. `what` says how much the answer shows: the `piece` to move, the best `move`, or the best `moves`. */
export interface Hint {
    t: "hint";
    id: string;
    room: string;
    ply: number;
    what?: "move" | "moves" | "piece";
}

/** Mutes a person: the room refuses that person's lines of chat. Host only. */
export interface Mute {
    t: "mute";
    id: string;
    room: string;
    identity: string;
}

/** Unmutes a person. Host only. */
export interface Unmute {
    t: "unmute";
    id: string;
    room: string;
    identity: string;
}

/** Frees the seat of a person for whom it was not meant, who may then watch but not sit here. Host only, and only until both sides have moved since the person sat down. A running match ends without a result. */
export interface Bar {
    t: "bar";
    id: string;
    room: string;
    identity: string;
}

/** Subscribes to the list of public rooms, or unsubscribes from it. */
export interface WatchLobby {
    t: "watch_lobby";
    id: string;
    on?: boolean;
}

/** The answer to `hello`. If `epoch` differs from that of an earlier welcome, the client joins its rooms again with `since` 0. `notice` is a sentence to show: the guest of the cookie was not found, and this is a new one. `nodes` is the number of nodes that are up; with more than one, clients open a socket for each room that they enter. */
export interface Welcome {
    t: "welcome";
    protocol: number;
    identity: string;
    name: string;
    epoch: string;
    at: number;
    token?: string | null;
    notice?: string | null;
    nodes?: number;
}

/** The command succeeded. `v` is the version of its last event, null when it logged none. `room` is present only in the answer to `create`. */
export interface Ack {
    t: "ack";
    id: string;
    v: number | null;
    room?: string;
}

/** The command was refused and changed nothing; only after `store.retry` is the outcome unknown. `id` is null when the server could not read one from the message. */
export interface Error {
    t: "error";
    id: string | null;
    code: Code;
    message: string;
}

export type Code = "frame.malformed" | "frame.too_deep" | "frame.too_big" | "frame.binary" | "message.unknown" | "message.malformed" | "hello.expected" | "hello.twice" | "protocol.unsupported" | "token.unknown" | "name.refused" | "game.unknown" | "game.changed" | "game.fault" | "game.hung" | "option.unknown" | "level.unknown" | "strategy.unknown" | "room.unknown" | "room.frozen" | "room.newer" | "room.full" | "room.busy" | "room.limit" | "seat.taken" | "seat.empty" | "seat.already" | "seat.none" | "seat.barred" | "bar.none" | "seat.locked" | "host.only" | "match.none" | "match.running" | "match.over" | "match.started" | "match.unknown" | "move.malformed" | "move.ambiguous" | "move.illegal" | "move.stale" | "move.early" | "move.not_your_turn" | "chat.empty" | "offer.twice" | "offer.none" | "chat.muted" | "mute.none" | "chat.repeated" | "claim.none" | "claim.unsure" | "draw.none" | "help.none" | "clock.refused" | "time.limit" | "takeback.none" | "position.refused" | "trace.text" | "trace.unknown" | "trace.impossible" | "trace.too_large" | "trace.withheld" | "lesson.unknown" | "study.off" | "study.busy" | "study.failed" | "analysis.refused" | "export.refused" | "origin.foreign" | "rate.exceeded" | "engine.busy" | "store.retry" | "server.fault" | "upgrade.late";

/** The answer to `ping`. `at` is the server's clock in ms since 1970. */
export interface Pong {
    t: "pong";
    at: number;
    id?: string | null;
}

/** The client now follows the room. Sent again when `frozen` or the game changes. `v` is the version of its newest event and `seat` the client's own seat. `frozen` is set when the room can be read but not played, and is the error code that says why. `may` lists the commands that the viewer may give, like the message `may`. A server of an earlier version omits it; the client may then try any command. `start_view` is the position in which the room's first match will start; null once it has started. `chat_commands` has the names of the bot's commands, which a player types after a `/`. */
export interface Joined {
    t: "joined";
    room: string;
    v: number;
    epoch: string;
    description: RoomDescription;
    seat?: number | null;
    frozen?: string | null;
    may?: string[] | null;
    start_view?: PositionView | null;
    chat_commands?: string[];
}

/** The properties of a room that do not change during a match. The game, what belongs to it, and `start` are those of the last match. When the next match is of another game, the server sends `joined` again, after `started`. `levels` is 0 for a game without levels, whose AI seats play strategies; `search` is `teach` then. `level_names` are the levels' names, the lowest first. `view` is null when this server does not have the game. `start`, `one_screen`, `takeback` and `rated` mean the same as in `created`. `goal` says in a sentence what a player of the game tries to do, and `options_text` are the options in words. */
export interface RoomDescription {
    game: string;
    title: string;
    options: Record<string, string>;
    visibility: string;
    host: string;
    created_ms: number;
    levels: number;
    view: BoardView | null;
    start?: string | null;
    one_screen?: boolean;
    takeback?: boolean;
    search?: string;
    level_names?: string[];
    rated?: boolean;
    goal?: string;
    options_text?: string;
}

/** The part of the view that stays the same for a whole room. `targets` maps a label, such as a column, to the cells that count as clicks on it. A label without cells, such as "pass", is a button beside the board. The server plays the move of such a button for a player who has no other move. `counted` is the noun for a side's pieces, such as "disc"; clients then show how many pieces each side has on the board. With `stores`, cells by side, they show how many seeds lie in the side's cells there. */
export interface BoardView {
    board: Grid | Sites;
    kinds: Record<string, Kind>;
    seats: SeatView[];
    targets?: Record<string, string[]>;
    counted?: string;
    stores?: string[][];
}

/** A rectangle of cells, named a1, b1, … (column letter, row number) or by `names[row][col]`. A name of None means that there is no cell. */
export interface Grid {
    kind: "grid";
    cols: number;
    rows: number;
    origin?: "bottom-left" | "top-left";
    names?: ((string | null)[])[] | null;
    style?: "bare" | "checker" | "felt" | "holes" | "plain" | "points";
    gravity?: boolean;
    labels?: boolean;
    flips?: boolean;
}

/** A free-form board of sites; each entry of `lines` is drawn as a line through its sites. */
export interface Sites {
    kind: "sites";
    sites: Site[];
    lines?: string[][];
    style?: "bare" | "checker" | "felt" | "holes" | "plain" | "points";
    borders?: Border[];
    flips?: boolean;
}

/** A cell of a free-form board; x grows to the right, y downwards, in cell widths. `side` is the side that the cell belongs to, such as a house of Kalah: it has a rim in the side's colour. */
export interface Site {
    id: string;
    x: number;
    y: number;
    shape?: "hex" | "point" | "round" | "square";
    side?: number | null;
}

/** An edge of the board that belongs to a side: the sites along it, whose outer edges are drawn in the side's colour. */
export interface Border {
    side: number;
    sites: string[];
}

/** The look of a kind of piece and its name, which screen readers speak. `text` is its letter on a terminal. `angle` turns the shape clockwise, in degrees from 0 to 359: a stick at 90 lies flat, a line at 90 is vertical. A kind with a `count` is a heap of so many seeds, drawn with its mark. */
export interface Kind {
    name: string;
    side?: number | null;
    shape?: "cross" | "disc" | "line" | "paper" | "ring" | "rock" | "scissors" | "stack" | "stick";
    sprite?: "bishop" | "king" | "knight" | "pawn" | "queen" | "rook" | null;
    mark?: string | null;
    text?: string | null;
    angle?: number;
    count?: number;
}

/** The name and the colour of a side. */
export interface SeatView {
    name: string;
    colour: string;
}

/** One position: pieces by cell, the seat to move (None when finished), marks by name, the last move's path and one line of text. `hands` counts the pieces of each kind that wait beside the board. `last` and the `marks` name cells or labels of `targets`: a label with cells stands for those cells, a label without cells for its button. Clients draw the mark named "last"; without that mark, a terminal draws the field `last`. */
export interface PositionView {
    pieces: Record<string, string>;
    turn: number | null;
    text: string;
    marks?: Record<string, string[]>;
    last?: string[];
    hands?: Record<string, number>;
    played?: string;
}

/** What the viewer may do now, besides `move` and `claim`, which `turn` permits. - `may` holds the types of commands that the room would accept. `sit` and `add_ai` concern each empty seat, `remove_ai` each seat that an AI holds. `accept` and `decline` concern the offer that is open, `decline` also one's own. `offer_draw` and `rematch` are listed where they accept the opponent's offer, too. - `see_thinking` is no command: the viewer may see the AI's thinking about the room's match, and the searches of its positions (`POST /api/trace`). - It is a hint, so that clients need not implement the rules of a room. The server checks each command again when it arrives. - The server sends it to the players and to the host whenever their list changes: after the events that changed it, or when time has passed. Spectators receive their list in `joined`, and again when the right to see the thinking begins or ends. */
export interface May {
    t: "may";
    room: string;
    v: number;
    may: string[];
}

/** The whole room at version `v`, as this viewer may see it. The client applies later events to it. `offers` lists the seats with an open offer: of a draw while a match is running, otherwise of a rematch. `proposals` lists the other open offers: the requests to take moves back, and the proposal of the next game. `thinking` and `help` are the room's settings for its next matches, as in `configured`. `muted` lists the people whom the host has muted, `barred` those who may not sit here any more. `series` has the points of the players against each other, over all matches of the room that have a result. `clock` is the text of the next matches' time control. */
export interface Snapshot {
    t: "snapshot";
    room: string;
    v: number;
    seats: (Occupant | null)[];
    match: MatchState | null;
    offers?: number[];
    chat?: ChatLine[];
    proposals?: Proposal[];
    thinking?: string;
    help?: boolean;
    muted?: Player[];
    barred?: Player[];
    series?: Score[];
    clock?: string | null;
}

/** The holder of a seat: a player with the name they had, or the AI at a level, as a persona or by a strategy. `kind` is `guest` or `ai`. `depth`, in plies, and `evaluator` are those of the strategy. An AI that plays on for a player who has gone keeps the seat for that player, `kept_for`. `own_name` says that the name is the seat's own, on one screen, and not that of the identity. */
export interface Occupant {
    identity: string;
    name: string;
    kind?: string;
    level?: number | null;
    persona?: string | null;
    strategy?: string | null;
    depth?: number | null;
    evaluator?: string | null;
    kept_for?: Player | null;
    own_name?: boolean;
}

/** A person, with the name at that time. */
export interface Player {
    identity: string;
    name: string;
}

/** A match with its result so far. The start position and the moves define the position. `seats` are the players of now, or of the end. `substitutions` says who played from which ply on, where a player went and the AI played on. `thinking` means the same as in `started`. */
export interface MatchState {
    id: string;
    number: number;
    start: string;
    rules: string;
    seats: Occupant[];
    moves: Played[];
    over?: MatchResult | null;
    substitutions?: Substitution[];
    thinking?: string;
    clock?: ClockState | null;
}

/** One move of a match. The fields mean the same as in `moved`. `text` and `number` are filled in for old logs too, unless this server no longer has the game. `seat` is there only where it is not the ply modulo 2: after an extra turn, and in a match that the second seat began. */
export interface Played {
    move: string;
    text?: string | null;
    number?: string | null;
    forced?: boolean;
    seat?: number | null;
}

/** The result of a match. The fields mean the same as in `finished`. `substitutions` are there over HTTP only; on the socket they are in the match's state. */
export interface MatchResult {
    winner: number | null;
    how: string;
    reason: string;
    points?: [number, number] | null;
    substitutions?: Substitution[];
}

/** From the move at `ply` on, `occupant` played the seat: an AI for a player who had gone, or the player again. */
export interface Substitution {
    ply: number;
    seat: number;
    occupant: Occupant;
}

/** The clock of a match. `control` is the text of its time control, and `left_ms` are the times that both sides had left at `since_ms`, in ms since 1970. Since then the side of the seat `running` is charged; null before both sides have finished their first turn, and after the match. `used_ms` is the time that its turn had used before, of a delay, and `move_ms` the part of it that belongs to the present move, before the clock stood: `spent_ms` of `moved` has it too. `held` says why the clock stands. `stages` and `periods` are those of both sides, as in `moved`. `first_ms` means the same as in `started`. */
export interface ClockState {
    control: string;
    left_ms: [number, number];
    since_ms: number;
    running?: number | null;
    used_ms?: number;
    held?: string | null;
    stages?: [number, number] | null;
    periods?: [number, number] | null;
    move_ms?: number;
    first_ms?: number | null;
}

/** One line of chat with the version and the time of its event. A server of an earlier version omits the identity of its author. `by`, `answers` and `links` mean the same as in `said`. */
export interface ChatLine {
    v: number;
    at: number;
    name: string;
    text: string;
    to?: string;
    identity?: string;
    by?: string;
    answers?: number | null;
    links?: boolean;
}

/** An open offer that is neither of a draw nor of a rematch. The fields mean the same as in `offered`. `v` is the version of that event; only a proposal of the next game has it. */
export interface Proposal {
    seat: number;
    what: string;
    to_ply?: number | null;
    v?: number | null;
    game?: string | null;
    options?: Record<string, string> | null;
    seats?: number[] | null;
    level?: number | null;
    title?: string | null;
    options_text?: string;
    clock?: string | null;
}

/** The points of two players of a room against each other, a win being two half points. `players` has their keys: the identity of a person, and `ai` for every AI. Two sides of one person, on one screen, have their names as keys. */
export interface Score {
    players: [string, string];
    half_points: [number, number];
}

/** The board at version `v`, the same for every viewer. */
export interface View {
    t: "view";
    room: string;
    v: number;
    match: string;
    ply: number;
    view: PositionView;
}

/** The legal moves at version `v`, sent only to the player to move. `claim` is the reason for which that player may claim a draw, null when there is none. */
export interface Turn {
    t: "turn";
    room: string;
    v: number;
    match: string;
    ply: number;
    moves: MoveView[];
    claim?: string | null;
}

/** One legal move: its token, the clicks that make it and a label. `choice` distinguishes moves with equal paths. `affects` and `ghost` are for hover previews. */
export interface MoveView {
    id: string;
    path: string[];
    text: string;
    choice?: string | null;
    affects?: string[];
    ghost?: [string, string] | null;
}

/** The state of an AI seat's search. May be dropped. - `state` is `absent` when no engine is connected and the match waits for one. - `wait` says what a `queued` search waits for, in words: "waits for a free search process". It is empty where the wait has only begun. - `score` is from that seat's point of view, in the game's units. A forced win is 30000 minus the plies to it. - `number` is the label of the move that is being searched, as in `moved`. - `ready` is the progress of compiling the game, in percent, and null when the game is compiled. A game is compiled once per installation. - `warming` means that the search is shorter than the level's because the game is not compiled yet. - A strategy has no `moves`. Its `value` is in its own units, as text; only with the evaluator `estimate` is the `score` in the game's units, otherwise it is 1, 0 or -1. `log` is what the strategy writes about its search, when it is done: lines of text, at most 16 KiB. - The persona `average` has both: its scores are means over the opponent's replies, and its `value` says so: "+312 on average". A mean has no chance to win, and proves no forced win. - `depths` are the last 32 depths of the search. - `assessment` is the search in words. A server of an earlier version omits it. - `withheld` is a sentence that says why this viewer may not see the search; it is empty for all others. The message then has the state of the search and not its results. - `played` is the move that the seat plays after this search, when it is done. */
export interface Thinking {
    t: "thinking";
    room: string;
    match: string;
    ply: number;
    seat: number;
    state: "absent" | "done" | "queued" | "searching" | "warming";
    depth?: number;
    score?: number;
    nodes?: number;
    nps?: number;
    time_ms?: number;
    pv?: string[];
    moves?: RootMove[];
    number?: string;
    warming?: boolean;
    ready?: number | null;
    value?: string;
    log?: string;
    counts?: Counts;
    depths?: DepthBest[];
    assessment?: Assessment | null;
    withheld?: string;
    wait?: string;
    played?: string;
}

/** The search's verdict on one move: the score for the side to move, in the evaluation's units (MATE minus plies for a forced win). `nodes` are the nodes that the search has spent on it. `exact` are the depths at which its score was exact, ascending, the last 24 of them: at the other depths the search only proved that the move is no better than the best one. `line` begins with the move, where the job requested the lines of several moves and the score is exact. `proven` says that a solver has proved who wins with the move, `lead` its final lead in the game's points, if that is known. */
export interface RootMove {
    move: string;
    score: number;
    bound?: "exact" | "lower" | "upper";
    nodes?: number;
    exact?: number[];
    line?: string[];
    proven?: boolean;
    lead?: number | null;
}

/** How much a search has cut off above its horizon. - `cuts` counts the positions where a move refuted the opponent's last one, so that the remaining moves were cut off; at `first_cuts` of them it was the first move searched. - `table_hits` counts the positions that were found in the transposition table, `table_cuts` those of them whose stored value made a search unnecessary. All are 0 where nothing counts them: in answers of a solver, a persona or a strategy. */
export interface Counts {
    cuts?: number;
    first_cuts?: number;
    table_hits?: number;
    table_cuts?: number;
}

/** The best move of a depth, at the head of the line that the search expected, and its score. The last depth of a search may be incomplete. */
export interface DepthBest {
    depth: number;
    score: number;
    line: string[];
}

/** A search in words for people. - `sentence` says which move the side likes, which moves it expects next, and how it judges its position: "Black likes Nc6: it expects 5. b3 Bg4 and thinks that Black is clearly better." - `chance` is that side's chance to win in percent, from 1 to 99; 100 for a forced win, 0 for a forced loss, null for a move without a search. `says` is the same in words. - `candidates` are its best moves, the best first, at most 3. `others` are the next ones, at most 3. - `depths` are the best moves of the depths, as in `thinking`. - `work` says in one or two sentences how much the search cut off: "3,863 branches cut off, 91 % of them by the first move tried. Answered from memory 1,640 times." It is empty where nothing counts that. - `note` is a sentence about the move that was played, if a level did not find it best: "Level 1 was careless here on purpose.", "Level 3 chose among moves that it found nearly as good." It names that move if it is not one of the candidates: "Nc6 was played." */
export interface Assessment {
    sentence: string;
    chance?: number | null;
    says?: string;
    candidates?: Candidate[];
    note?: string;
    others?: Candidate[];
    depths?: DepthWords[];
    work?: string;
}

/** One of the best moves that a search knows. - `move` is the move's token, and `text` its notation. - `chance` is the chance to win after it, in percent, for the side that searches; a draw counts as half a win. With `bound` "upper" the chance is lower than that, with "lower" it is higher. It is null where the bound says nothing. - `says` is the same in words: "62 %", "worse than 30 %", "wins within 3 moves"; and where a solver has proved the result, "wins in 3 moves", "wins by 12 discs", "draws", "loses". - `cells` are the cells of the board that show the move, in order: one for a piece that is placed, more for one that moves. - `line` are the moves, at most 2, that the search expected after it when it last was the best move, in notation and with their numbers: "4... Nf6 5. Bf4". It is empty for a move that was never the best one. In a game with extra turns, moves of the same side can be among them. */
export interface Candidate {
    move: string;
    text: string;
    says: string;
    chance?: number | null;
    bound?: "exact" | "lower" | "upper";
    cells?: string[];
    line?: string;
}

/** The best move of a depth: its token, its notation, and the chance to win after it. The last depth of a search may be incomplete. */
export interface DepthWords {
    depth: number;
    move: string;
    text: string;
    chance: number;
}

/** An answer of the room's bot to the recipient alone. It is not in the log. `v` is the version of the line that it answers, or 0. `candidates` are the moves that it names. The client draws the `arrows` until the position changes. An answer to no line has its kind in `about`: a `hint`, or a comment of the `coach`. */
export interface Answer {
    t: "answer";
    room: string;
    v: number;
    text: string;
    arrows?: Arrow[];
    candidates?: Candidate[];
    about?: string;
}

/** An arrow on the board, along the cells of a move; with a single cell, a mark on it. `kind` is `best` for the best move, `other` for another one, and `threat` for a move that the opponent would play. */
export interface Arrow {
    cells: string[];
    kind?: string;
}

/** Which seats are connected (an AI seat always is) and how many spectators watch. While the opponent of a person has gone from a running match, `gone_ms` has for that seat the time until the other player may claim the match, in ms from this message on; 0 means that the player has been gone for long enough. It is null for all other seats. The time begins anew when the server cannot be sure that it would know of a new connection. It stands still while the other player is not in the room either, and while the server heard nobody. For players, `elsewhere` has the seats whose people are not connected to the room, but are connected to this server: on another page of it, such as the lobby or a replay. That is for people to read: the time counts all the same. Spectators do not learn it. May be dropped. */
export interface Presence {
    t: "presence";
    room: string;
    seats: boolean[];
    watching: number;
    gone_ms?: (number | null)[];
    elsewhere?: number[];
}

/** The list of public rooms. May be dropped. With `full` true it is the whole list; otherwise `rooms` holds the rooms that changed and `gone` the ids of those that left the list. */
export interface Lobby {
    t: "lobby";
    full: boolean;
    rooms?: RoomSummary[];
    gone?: string[];
}

/** A public room in the lobby's list. `state` is `open`, `playing` or `finished`. `length` is the length of its match as text ("12 moves"), counted as the game counts moves. `options_text` are its options in words. `away` lists the seats of a room that waits for a player whose people have had no connection to it for 30 s, on any node. They may come back, and the seat beside them can be taken. `offers` are the open offers of the next match, between two matches. `clock` is the text of the matches' time control, null for none, and `speed` its class: `bullet`, `blitz`, `rapid`, `classical` or `untimed`. `times` is the clock of a running match. */
export interface RoomSummary {
    room: string;
    game: string;
    title: string;
    options: Record<string, string>;
    seats: (Occupant | null)[];
    state: string;
    created_ms: number;
    ply?: number;
    watching?: number;
    length?: string;
    options_text?: string;
    away?: number[];
    offers?: OpenOffer[];
    clock?: string | null;
    speed?: string;
    times?: ClockState | null;
}

/** A player's open offer of a room's next match: `what` is `rematch`, or `next` with the title of the proposed game. */
export interface OpenOffer {
    seat: number;
    what: string;
    title?: string;
}

/** What waits for a player in a room that no connection of the player follows. May be dropped. The server sends it to all connections of the player whenever it changes. `what` is `turn`, also `started` before the first move, `over` when a match has ended, or what the opponent offers: `draw`, `takeback`, `rematch` or `next`. It is empty when nothing waits any more, or after the first change in the room with the player in it. `text` says it in a sentence. Nothing waits in a room against an AI, nor on one screen. */
export interface Notification {
    t: "notification";
    room: string;
    what?: string;
    text?: string;
}

/** The room was created. Always the first event of the log, v = 1. - `visibility` is `public` or `unlisted`. - `start` is the position, as text, from which the room's matches start; null for the game's own start. - `one_screen` says that one player holds both seats. - `takeback` says whether players may take moves back. - `rated` says that the results count for ratings. No command of this version sets it. - `help` says whether the room gives help with positions while two people play each other. - `clock` is the text of the matches' time control (`server.time_controls`), null for none. */
export interface Created {
    kind: "created";
    game: string;
    options: Record<string, string>;
    visibility: string;
    host: string;
    start?: string | null;
    one_screen?: boolean;
    takeback?: boolean;
    rated?: boolean;
    help?: boolean;
    clock?: string | null;
}

/** From now on the room needs a capability of the server's program. A program that does not define `what` shows the room, but does not play it. `what` is `strategies`: a strategy may hold a seat; `start`, `one_screen` or `rated`: those fields of `created`; `games`: the room's matches may be of different games; `own_names`: a seat may have a name of its own; `clock`: the room's matches may have clocks. */
export interface Required {
    kind: "required";
    what: string;
}

/** The host chose settings of the room. They apply to matches that start later. - `thinking` says who may see an AI's thinking while a match is running: `all`, `spectators`, or `after` (nobody before the match is over). - `help` is as in `created`; null leaves it as it was. - `clock` is as in `created`, `-` for no clock; null leaves it as it was. */
export interface Configured {
    kind: "configured";
    thinking: string;
    help?: boolean | null;
    clock?: string | null;
}

/** A player or the AI took a seat. */
export interface SeatTaken {
    kind: "seat_taken";
    seat: number;
    occupant: Occupant;
}

/** A seat became free. */
export interface SeatLeft {
    kind: "seat_left";
    seat: number;
}

/** A match started. `number` counts the matches of the room, `start` is the start position as text, and `rules` is the digest of the game's rules. `thinking` is the room's setting, which this match keeps. Where the match is of another game than the one before, or has other options, `game` and `options` are those of the match and, from now on, of the room; the room's matches then start from the game's own start. `title` is the game's name for people. `clock` is the match's time control, null for none, and `clocks_ms` what both sides start with. `first_ms` is the time for the first turn of each side, which no clock counts; null for a tenth of the base of the clock, at least 10 s and at most 30 s. */
export interface Started {
    kind: "started";
    match: string;
    number: number;
    start: string;
    rules: string;
    seats: Occupant[];
    thinking?: string;
    game?: string | null;
    options?: Record<string, string> | null;
    title?: string | null;
    clock?: string | null;
    clocks_ms?: [number, number] | null;
    first_ms?: number | null;
}

/** A move was played. - `ply` counts from 0. - `move` is the move's token, as in the `move` command. - `digest` identifies the position after the move. - `text` is the move's notation ("Bc4"), null in games without a notation of their own and in old logs. - `number` is the label in a move list, null in old logs: "3." and "3..." in games where both sides' moves share a number, "6." in games where each move has its own. - `forced` marks a pass that the server played for a person who had no other move. In a match with a clock, and null in others: - `clock_ms` is the time that the mover has left, with what the end of the turn gave. - `spent_ms` is the time that the move took, as the clock counts it. `lag_ms` and `credit_ms` are time that passed and costs nothing: of the network, and of the server. - `stage` is the mover's stage of the control, and the number of stages in overtime. `periods` are the periods of byo-yomi after the present one, or the turns to go to the next stage or in a block of Canadian overtime. Only a control that has them gives them. - `goes_on` says that the mover's turn goes on with another move. */
export interface Moved {
    kind: "moved";
    match: string;
    ply: number;
    seat: number;
    move: string;
    digest: string;
    text?: string | null;
    clock_ms?: number | null;
    number?: string | null;
    forced?: boolean;
    spent_ms?: number | null;
    lag_ms?: number;
    credit_ms?: number;
    stage?: number | null;
    periods?: number | null;
    goes_on?: boolean;
}

/** A player took moves back: the match goes on at ply `to_ply`. The log keeps the moves that were taken back; the next `moved` has their ply again. `seat` is the player who wanted it, and `digest` identifies the position. Every open offer lapses. `clocks_ms` are the times that both sides have left in a match with a clock, and `stages` and `periods` those of both sides, as in `moved`. `used_ms` is the time that the turn which is played again has used before. */
export interface TookBack {
    kind: "took_back";
    match: string;
    to_ply: number;
    seat: number;
    digest: string;
    clocks_ms?: [number, number] | null;
    stages?: [number, number] | null;
    periods?: [number, number] | null;
    used_ms?: number;
}

/** A player gave the opponent time: `ms` more for the side of `seat`. */
export interface TimeAdded {
    kind: "time_added";
    match: string;
    seat: number;
    ms: number;
}

/** The match's clock stands since `since_ms`. `why` is `outage` when the server was not there, `maintenance`, or `clock` when the time of day was not to be trusted. */
export interface Held {
    kind: "held";
    match: string;
    why: string;
    since_ms: number;
}

/** The match's clock runs again from `from_ms` on. `clocks_ms` are the times of both sides, and `stages` and `periods` those of both, as in `moved`: before the clock stood, the side to move may have begun a period. */
export interface Released {
    kind: "released";
    match: string;
    clocks_ms: [number, number];
    from_ms: number;
    stages?: [number, number] | null;
    periods?: [number, number] | null;
}

/** The match ended. `winner` is a seat, or null when nobody won; `reason` is a sentence for people. `how` is `board` when the game's rules ended the match, `resign`, `abort`, `claim` for a claimed draw, `agreement` for an agreed one, `failure` when the AI could not move, and `gone` when a player claimed the win or a draw because the opponent had gone. It is `flag` when a side's time ran out, which the opponent wins, or nobody if the opponent cannot win by the rules; and `noshow` when a side did not finish its first turn in time, which has no result. `points` are those of both seats, if the match ended on the board of a game with points: in Othello the discs, with the empty cells for the winner. Old logs have none, or discs alone. `clocks_ms` are the times that both sides have left in a match with a clock; 0 for a side whose time ran out. */
export interface Finished {
    kind: "finished";
    match: string;
    winner: number | null;
    how: string;
    reason: string;
    points?: [number, number] | null;
    clocks_ms?: [number, number] | null;
}

/** A player offered a draw or a rematch, proposed the next game, or asked to take a move back. An offer of a draw lapses when the opponent moves or a move is taken back, a takeback with any change of the position. A proposal of the next game replaces an earlier one; the version of this event names it in `accept`. `what` is `rematch`, `draw`, `takeback` or `next`. `to_ply` is the ply to which a takeback would return. The other fields are those of the command `next_game`, and null for other offers: the `game` with its `options`, and in `seats`, for each seat of the match, the seat that its player holds now. `title` is the game's name for people, and `options_text` are its options in words. `clock` is the text of the time control, `-` for none; null leaves it as it was. */
export interface Offered {
    kind: "offered";
    seat: number;
    what?: string;
    to_ply?: number | null;
    game?: string | null;
    options?: Record<string, string> | null;
    seats?: number[] | null;
    level?: number | null;
    title?: string | null;
    options_text?: string | null;
    clock?: string | null;
}

/** The offer was declined or withdrawn. `what` is that of the offer. */
export interface Declined {
    kind: "declined";
    seat: number;
    what?: string;
}

/** The AI plays on for a player who has gone, from the move at `ply` on. It keeps the seat for the player in `occupant.kept_for`, who may take it back until the match ends. At the end the seat is the player's again. */
export interface AiTookOver {
    kind: "ai_took_over";
    match: string;
    seat: number;
    ply: number;
    occupant: Occupant;
}

/** The player took the seat back from the AI, and plays from the move at `ply` on. */
export interface PlayerReturned {
    kind: "player_returned";
    match: string;
    seat: number;
    ply: number;
    occupant: Occupant;
}

/** A player changed their name. The seats that they hold, or that an AI keeps for them, show the new name from now on. */
export interface Renamed {
    kind: "renamed";
    identity: string;
    name: string;
}

/** The host muted a person, whose lines of chat the room then refuses. `name` is the person's name at that time. */
export interface Muted {
    kind: "muted";
    identity: string;
    name: string;
}

/** The host unmuted a person. The fields are those of `muted`. */
export interface Unmuted {
    kind: "unmuted";
    identity: string;
    name: string;
}

/** A line of chat. - `to` is `room`, `spectators`, or `author` for a question to the room's bot that nobody else sees. - `by` is `bot` for a line of the room's bot, and empty for one of a person. `answers` is then the version of the line that it answers. - `links` says whether clients may show the addresses in the line as links. - `cheap` says that the line is a question to the bot that needs no search. */
export interface Said {
    kind: "said";
    identity: string;
    name: string;
    text: string;
    to?: string;
    by?: string;
    answers?: number | null;
    links?: boolean;
    cheap?: boolean;
}

/** The host kept a seat for someone else: the person left it and may not sit in this room again. The person may still watch. `name` is the person's name at that time. */
export interface Barred {
    kind: "barred";
    identity: string;
    name: string;
}

/** The progress of a search, after a completed depth or during one; `pv` begins with the best move. `warming` means that the game is not compiled yet, so the search is less deep than its level. A strategy reports its `value`, in its own units, and its `log` as text. The persona `average` reports its value as text, because its scores are means over the opponent's replies. `depths` are the last 32 depths of the search. */
export interface Info {
    depth: number;
    score: number;
    nodes: number;
    nps: number;
    time_ms: number;
    pv: string[];
    moves?: RootMove[];
    warming?: boolean;
    value?: string;
    log?: string;
    counts?: Counts;
    depths?: DepthBest[];
}

export type ClientMessage = Hello | Ping | Create | Join | Leave | Sit | Stand | AddAi | RemoveAi | Configure | Move | Takeback | Resign | Abort | Claim | OfferDraw | Accept | Rematch | NextGame | Decline | ClaimWin | CallDraw | LetAiPlay | ReclaimSeat | AddTime | Chat | Hint | Mute | Unmute | Bar | WatchLobby;

export type ServerMessage = Welcome | Ack | Error | Pong | Joined | May | Snapshot | View | Turn | Thinking | Answer | Presence | Lobby | Notification;

export type RoomEvent = Created | Required | Configured | SeatTaken | SeatLeft | Started | Moved | TookBack | TimeAdded | Held | Released | Finished | Offered | Declined | AiTookOver | PlayerReturned | Renamed | Muted | Unmuted | Said | Barred;

/** An event of a room: the entry of its log at v. */
export type EventMessage = { t: "event"; room: string; v: number; at: number } & RoomEvent;
/** An event that this viewer may not see. */
export type HiddenMessage = { t: "event"; room: string; v: number; at: number; kind: "hidden" };
/** Everything that the server sends. */
export type Message = ServerMessage | EventMessage | HiddenMessage;
