// A boardgame.io server with tic-tac-toe, in memory, on a free port. Prints its address.
const { Server, Origins } = require("boardgame.io/server");
const { INVALID_MOVE } = require("boardgame.io/core");

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

const isWon = (cells) => LINES.some(([a, b, c]) => cells[a] !== null && cells[a] === cells[b] && cells[a] === cells[c]);

const TicTacToe = {
    name: "tic-tac-toe",
    setup: () => ({ cells: Array(9).fill(null) }),
    turn: { minMoves: 1, maxMoves: 1 },
    moves: {
        clickCell: ({ G, playerID }, cell) => {
            if (G.cells[cell] !== null) return INVALID_MOVE;
            G.cells[cell] = playerID;
        },
    },
    endIf: ({ G, ctx }) => {
        if (isWon(G.cells)) return { winner: ctx.currentPlayer };
        if (G.cells.every((cell) => cell !== null)) return { draw: true };
    },
};

Server({ games: [TicTacToe], origins: [Origins.LOCALHOST] })
    .run({ port: 0 })
    .then(({ appServer }) => console.log(`http://127.0.0.1:${appServer.address().port}/`));
