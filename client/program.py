"""How the user types this program, for the commands that it prints."""

import shlex
import shutil
import sys
from pathlib import Path

#: The file that `python -m client` runs.
MAIN_FILE = Path(__file__).resolve().with_name("__main__.py")

#: What people do first: what follows the name of this program, and what it does.
FIRST_STEPS = (
    ("play chess", "play against the AI"),
    ("play chess --friend", "open a room and send its link to a friend"),
    ("join LINK", "sit down in a room, or watch it"),
    ("rooms", "list the rooms of a server"),
    ("serve", "run a server for browsers and terminals"),
    ("--help", "list all commands and options"),
)


def first_steps() -> list[str]:
    """The lines of `FIRST_STEPS` below how the user types this program, perhaps a long path."""
    width = max(len(words) for words, _ in FIRST_STEPS)
    return [
        f"{program()} and one of:",
        *[f"  {words:<{width}}  {what}" for words, what in FIRST_STEPS],
    ]


def program() -> str:
    """How the user types this program: "plyroom" where the shell finds this one by that name, else
    its path, as after `make run`; "python -m client" as it was typed.
    """
    started_as = Path(sys.argv[0])
    if started_as.name == MAIN_FILE.name and started_as.resolve() == MAIN_FILE:
        arguments = len(sys.argv) - 1
        return shlex.join(sys.orig_argv[: len(sys.orig_argv) - arguments])
    found = shutil.which("plyroom")
    is_other = found is None or Path(found).resolve() != started_as.resolve()
    return shlex.quote(sys.argv[0]) if started_as.name == "plyroom" and is_other else "plyroom"
