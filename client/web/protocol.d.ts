// The wire, version 1. Written by `python -m tests.support.wire_files` from server/protocol/messages.py.

/** The first message. Without a token (and without the browser's cookie) a guest is made and its secret token returned once. */
export interface Hello {
    t: "hello";
    protocol: number;
    token?: string | null;
    name?: string | null;
}

/** Answered by a pong; any message within 20 s keeps the connection alive. */
export interface Ping {
    t: "ping";
    id?: string | null;
}

/** Makes a room; the match starts as soon as both seats are filled. The ack names the room. */
export interface Create {
    t: "create";
    id: string;
    game: string;
    options?: Record<string, string>;
    visibility?: "public" | "unlisted";
    seats?: (MySeat | OpenSeat | AiSeat)[];
}

/** The creator sits here. */
export interface MySeat {
    who: "me";
}

/** Whoever comes first sits here. */
export interface OpenSeat {
    who: "open";
}

/** The AI sits here: at one of the game's levels, or as a persona. */
export interface AiSeat {
    who: "ai";
    level?: number | null;
    persona?: "average" | "random" | "swindler" | null;
}

/** Starts (or catches up) following a room: `joined`, a `snapshot` when since is 0, too old or of another epoch, then every later event. */
export interface Join {
    t: "join";
    id: string;
    room: string;
    since?: number;
    epoch?: string | null;
}

/** Stops following a room; a seat stays taken. */
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

/** Gives up one's seat, while no match is running. */
export interface Stand {
    t: "stand";
    id: string;
    room: string;
}

/** The host puts the AI on an empty seat: at one of the game's levels, or as a persona. */
export interface AddAi {
    t: "add_ai";
    id: string;
    room: string;
    seat: number;
    level?: number | null;
    persona?: "average" | "random" | "swindler" | null;
}

/** The host takes the AI off a seat, while no match is running. */
export interface RemoveAi {
    t: "remove_ai";
    id: string;
    room: string;
    seat: number;
}

/** Plays a move; ply is the number of moves already played, so that a late move cannot land in another position. */
export interface Move {
    t: "move";
    id: string;
    room: string;
    ply: number;
    move: string;
}

/** Gives the running match up. */
export interface Resign {
    t: "resign";
    id: string;
    room: string;
}

/** Ends a match without a result: a player before the second move, or the host when only AI seats play. */
export interface Abort {
    t: "abort";
    id: string;
    room: string;
}

/** Claims a draw that the rules allow the player to move to claim; `turn` says whether there is one. */
export interface Claim {
    t: "claim";
    id: string;
    room: string;
}

/** Offers a draw, or accepts the other side's offer; it stands until the other side moves or declines. */
export interface OfferDraw {
    t: "offer_draw";
    id: string;
    room: string;
}

/** Accepts the other side's offer, of a draw while a match is running, else of a rematch. */
export interface Accept {
    t: "accept";
    id: string;
    room: string;
}

/** Offers another match with sides swapped, or accepts that offer; against an AI, or as host of an AI match, it starts at once. */
export interface Rematch {
    t: "rematch";
    id: string;
    room: string;
}

/** Declines the other side's offer of a draw or a rematch, or withdraws one's own. */
export interface Decline {
    t: "decline";
    id: string;
    room: string;
}

/** Says something to the room, or to spectators only (players get a `hidden` event while they hold a seat). */
export interface Chat {
    t: "chat";
    id: string;
    room: string;
    text: string;
    to?: "room" | "spectators";
}

/** Starts or stops the list of public rooms. */
export interface WatchLobby {
    t: "watch_lobby";
    id: string;
    on?: boolean;
}

/** The answer to hello. A client whose epoch differs from the one it knew joins its rooms again from 0. */
export interface Welcome {
    t: "welcome";
    protocol: number;
    identity: string;
    name: string;
    epoch: string;
    at: number;
    token?: string | null;
}

/** Done. v is the last event that the command made, null when it logs nothing; room only answers create. */
export interface Ack {
    t: "ack";
    id: string;
    v: number | null;
    room?: string;
}

/** Refused, and nothing changed; id is null when the message had none that could be read. */
export interface Error {
    t: "error";
    id: string | null;
    code: Code;
    message: string;
}

export type Code = "frame.malformed" | "frame.too_deep" | "frame.too_big" | "frame.binary" | "message.unknown" | "message.malformed" | "hello.expected" | "hello.twice" | "protocol.unsupported" | "token.unknown" | "name.refused" | "game.unknown" | "game.changed" | "game.fault" | "option.unknown" | "level.unknown" | "room.unknown" | "room.frozen" | "room.busy" | "room.limit" | "seat.taken" | "seat.empty" | "seat.already" | "seat.none" | "seat.locked" | "host.only" | "match.none" | "match.running" | "match.over" | "match.started" | "match.unknown" | "move.malformed" | "move.illegal" | "move.stale" | "move.early" | "move.not_your_turn" | "chat.empty" | "offer.twice" | "offer.none" | "claim.none" | "origin.foreign" | "rate.exceeded" | "store.retry" | "server.fault" | "upgrade.late";

/** The server's clock in ms since 1970. */
export interface Pong {
    t: "pong";
    at: number;
    id?: string | null;
}

/** You follow the room now; v is its head, seat the one you hold. A frozen room can be read but not played, for that reason. */
export interface Joined {
    t: "joined";
    room: string;
    v: number;
    epoch: string;
    description: RoomDescription;
    seat?: number | null;
    frozen?: Code | null;
}

/** What stays the same for as long as a room lives; view is null when its game is missing here. */
export interface RoomDescription {
    game: string;
    title: string;
    options: Record<string, string>;
    visibility: "public" | "unlisted";
    host: string;
    created_ms: number;
    levels: number;
    view: BoardView | null;
}

/** What stays the same for a whole room; `targets` maps a label (a column) to the cells that a click may hit for it; a label without cells ("pass") is a button beside the board. A move by such a button is played for a person who can play nothing else. */
export interface BoardView {
    board: Grid | Sites;
    kinds: Record<string, Kind>;
    seats: SeatView[];
    targets?: Record<string, string[]>;
}

/** A rectangle of cells named a1, b1, … (column letter, row number) or by `names[row][col]`, where None is no cell. */
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

/** A board of places anywhere, with lines drawn through the places that each entry lists. */
export interface Sites {
    kind: "sites";
    sites: Site[];
    lines?: string[][];
    style?: "bare" | "checker" | "felt" | "holes" | "plain" | "points";
    borders?: Border[];
}

/** One place of a free-form board; x to the right and y downwards, one cell being one unit wide. */
export interface Site {
    id: string;
    x: number;
    y: number;
    shape?: "hex" | "point" | "round" | "square";
}

/** An edge of the board that belongs to a side: the places along it, whose outer edges get the side's colour. */
export interface Border {
    side: number;
    sites: string[];
}

/** How a kind of piece looks, and its name for people and screen readers; `text` is its letter on a terminal. `angle` turns the shape clockwise, in degrees from 0 to 359: a stick of 90 lies, a line of 90 goes up and down. */
export interface Kind {
    name: string;
    side?: number | null;
    shape?: "cross" | "disc" | "line" | "ring" | "stack" | "stick";
    sprite?: "bishop" | "king" | "knight" | "pawn" | "queen" | "rook" | null;
    mark?: string | null;
    text?: string | null;
    angle?: number;
}

/** The name of a side and the colour that stands for it. */
export interface SeatView {
    name: string;
    colour: string;
}

/** The whole room at v as this viewer may see it: apply later events to it. */
export interface Snapshot {
    t: "snapshot";
    room: string;
    v: number;
    seats: (Occupant | null)[];
    match: MatchState | null;
    offers?: number[];
    chat?: ChatLine[];
}

/** Who holds a seat: an identity with the name it had then, or the AI at a level or as a persona. */
export interface Occupant {
    identity: string;
    name: string;
    kind?: "ai" | "guest";
    level?: number | null;
    persona?: string | null;
}

/** A match as it stands: start position and moves make the position. */
export interface MatchState {
    id: string;
    number: number;
    start: string;
    rules: string;
    seats: Occupant[];
    moves: Played[];
    over?: MatchResult | null;
}

/** One move of a match: its token, its notation in games that have one, its number as in `moved`; in matches of old logs too, unless their game is gone. Forced: the server played it, because it was a pass with nothing else to play. */
export interface Played {
    move: string;
    text?: string | null;
    number?: string | null;
    forced?: boolean;
}

/** How a match ended. */
export interface MatchResult {
    winner: number | null;
    how: "abort" | "agreement" | "board" | "claim" | "failure" | "resign";
    reason: string;
}

/** One line of chat with the v of its event. */
export interface ChatLine {
    v: number;
    at: number;
    name: string;
    text: string;
    to?: "room" | "spectators";
}

/** What to draw at v, for everybody in the room. */
export interface View {
    t: "view";
    room: string;
    v: number;
    match: string;
    ply: number;
    view: PositionView;
}

/** One position: pieces by cell, the seat to move (None when finished), marks by name, the last move's path, one line of text; `hands` counts the pieces of each kind that wait beside the board. `last` and each of the `marks` name cells, or labels of `targets`: a label that has cells stands for them, one without is its button, and is told beside the board. The clients draw the mark `last`; where there is none, a terminal draws `last`. */
export interface PositionView {
    pieces: Record<string, string>;
    turn: number | null;
    text: string;
    marks?: Record<string, string[]>;
    last?: string[];
    hands?: Record<string, number>;
    played?: string;
}

/** Your legal moves at v, to the seat to move only; claim is why you may claim a draw, where you may. */
export interface Turn {
    t: "turn";
    room: string;
    v: number;
    match: string;
    ply: number;
    moves: MoveView[];
    claim?: string | null;
}

/** One legal move: its token, the clicks that make it, a label; `choice` parts equal paths, the rest is for hover previews. */
export interface MoveView {
    id: string;
    path: string[];
    text: string;
    choice?: string | null;
    affects?: string[];
    ghost?: [string, string] | null;
}

/** What an AI seat is doing; score is for that seat, in the game's units (30000 minus plies: a forced win). Number is that of the move that is thought about. Absent: no engine is there, and the match waits for one. May be dropped. `ready` is there while the game is compiled, once per installation: how far that is, in percent. `warming` says that this look is shorter than the level's because it is not yet. */
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
}

/** What the search thinks of one move: score for the side to move in the evaluation's units (MATE at the top). */
export interface RootMove {
    move: string;
    score: number;
    bound?: "exact" | "lower" | "upper";
}

/** Which seats have somebody connected (an AI always is), and how many others watch. May be dropped. */
export interface Presence {
    t: "presence";
    room: string;
    seats: boolean[];
    watching: number;
}

/** The list of public rooms when full is true, else the rooms that changed and the ids of those that are gone. May be dropped. */
export interface Lobby {
    t: "lobby";
    full: boolean;
    rooms?: RoomSummary[];
    gone?: string[];
}

/** A public room in the lobby's list; length is how long its match is, in words, as its game counts moves. */
export interface RoomSummary {
    room: string;
    game: string;
    title: string;
    options: Record<string, string>;
    seats: (Occupant | null)[];
    state: "finished" | "open" | "playing";
    created_ms: number;
    ply?: number;
    watching?: number;
    length?: string;
}

/** The room was made; v 1 of every log. */
export interface Created {
    kind: "created";
    game: string;
    options: Record<string, string>;
    visibility: "public" | "unlisted";
    host: string;
}

/** A seat was taken. */
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

/** A match began: its id, its number in this room, the start position in text, the exact rules, who plays which side. */
export interface Started {
    kind: "started";
    match: string;
    number: number;
    start: string;
    rules: string;
    seats: Occupant[];
}

/** A move was played: ply counts from 0, digest names the position after it. Text is its notation in games that have one of their own ("Bc4"), else null. Number is what stands before it in a list: "3." or, for the second side, "3..." where both sides' moves have one number; "6." where each has its own. Both are null in old logs. `clock_ms` is reserved for the clocks of matches and null until there are any. A forced move was a pass with nothing else to play: the server played it for the person in that seat. */
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
}

/** The match is over; winner is a seat or null, how says by which door, reason says it in words. */
export interface Finished {
    kind: "finished";
    match: string;
    winner: number | null;
    how: "abort" | "agreement" | "board" | "claim" | "failure" | "resign";
    reason: string;
}

/** A seat offered a draw, or another match. An offer of a draw lapses when the other side moves. */
export interface Offered {
    kind: "offered";
    seat: number;
    what?: "draw" | "rematch";
}

/** The offer was declined or withdrawn. */
export interface Declined {
    kind: "declined";
    seat: number;
    what?: "draw" | "rematch";
}

/** Somebody said something. */
export interface Said {
    kind: "said";
    identity: string;
    name: string;
    text: string;
    to?: "room" | "spectators";
}

/** The state of a running search after a completed depth, or now and then within one; `pv` starts with the best move. `warming`: the search is not compiled yet, and looks less far than the level does. */
export interface Info {
    depth: number;
    score: number;
    nodes: number;
    nps: number;
    time_ms: number;
    pv: string[];
    moves?: RootMove[];
    warming?: boolean;
}

export type ClientMessage = Hello | Ping | Create | Join | Leave | Sit | Stand | AddAi | RemoveAi | Move | Resign | Abort | Claim | OfferDraw | Accept | Rematch | Decline | Chat | WatchLobby;

export type ServerMessage = Welcome | Ack | Error | Pong | Joined | Snapshot | View | Turn | Thinking | Presence | Lobby;

export type RoomEvent = Created | SeatTaken | SeatLeft | Started | Moved | Finished | Offered | Declined | Said;

/** One event of a room: what its log says at v. */
export type EventMessage = { t: "event"; room: string; v: number; at: number } & RoomEvent;
/** An event that this viewer may not see. */
export type HiddenMessage = { t: "event"; room: string; v: number; at: number; kind: "hidden" };
/** Everything that the server sends. */
export type Message = ServerMessage | EventMessage | HiddenMessage;
