"""`python -m client` runs the `plyroom` command, even where it is not installed."""

from client.cli import main

if __name__ == "__main__":
    main(prog_name="plyroom")
