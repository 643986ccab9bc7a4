"""A program that plays one scripted game in three protocols, and fails on request.

scripted_engine.py PROTOCOL FAULT PLY: FAULT is none, hang, die, illegal, resign or mute; with
mute the program prints nothing at all. PLY is the ply of the fault.
"""

import sys
import time

#: The script of each game.
MOVES = {"chess": ["f2f3", "e7e5", "g2g4", "d8h4"], "othello": ["d3", "c3", "c4", "c5"]}
#: A move that the rules do not allow.
ILLEGAL = {"chess": "a1a8", "othello": "a1"}


def say(text: str) -> None:
    """Sends a line to the referee."""
    print(text, flush=True)


def next_move(game: str, ply: int, fault: str, fault_ply: int) -> str:
    """Returns the next move of the script, or fails from `fault_ply` on."""
    if ply < fault_ply or fault == "none":
        return MOVES[game][ply]
    if fault == "hang":
        time.sleep(60)
    if fault == "die":
        sys.exit(3)
    return {"illegal": ILLEGAL[game], "resign": "resign"}[fault]


def uci(fault: str, fault_ply: int) -> None:
    """Plays the script in UCI."""
    ply = 0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "uci":
            say("id name scripted\noption name Hash type spin default 16")
            say("option name UCI_Elo type spin\nuciok")
        elif words[0] == "isready":
            say("readyok")
        elif words[0] == "position":
            ply = len(words) - words.index("moves") - 1 if "moves" in words else 0
        elif words[0] == "go":
            say("info depth 1 score cp 12 nodes 34 pv a2a3")
            say("info depth 2 score cp 99 upperbound nodes 56")
            say(f"bestmove {next_move('chess', ply, fault, fault_ply)}")
        elif words[0] == "quit":
            return


def xboard(fault: str, fault_ply: int) -> None:
    """Plays the script in the xboard protocol."""
    ply, is_forced = 0, False
    for line in sys.stdin:
        words = line.split()
        if words[0] == "protover":
            say('feature myname="Scripted 1" usermove=1 ping=1 setboard=1 done=1')
        elif words[0] == "ping":
            say(f"pong {words[1]}")
        elif words[0] == "new":
            ply, is_forced = 0, False
        elif words[0] == "force":
            is_forced = True
        elif words[0] == "quit":
            return
        elif words[0] in ("go", "usermove"):
            ply += words[0] == "usermove"
            is_forced = is_forced and words[0] != "go"
            if not is_forced:
                move = next_move("chess", ply, fault, fault_ply)
                say("1 12 3 34 a2a3")
                say("resign" if move == "resign" else f"move {move}")
                ply += 1


def gtp(fault: str, fault_ply: int) -> None:
    """Plays the script in GTP."""
    ply = 0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "quit":
            return
        if words[0] == "clear_board":
            ply = 0
        if words[0] == "genmove":
            say(f"= {next_move('othello', ply, fault, fault_ply)}\n")
        elif words[-1] in ("pass", "c1"):
            say("? syntax error\n")
        elif words[0] in ("boardsize", "clear_board", "play"):
            say("=\n")
        else:
            say("? unknown command\n")
        ply += words[0] in ("play", "genmove")


if __name__ == "__main__":
    protocol, fault, ply = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if fault == "mute":
        time.sleep(60)
    {"uci": uci, "xboard": xboard, "gtp": gtp}[protocol](fault, ply)
