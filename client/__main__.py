"""`python -m client` is the `plyroom` command, also where it is not installed."""

from client.cli import main

if __name__ == "__main__":
    main(prog_name="plyroom")
