"""`python -m server.bench`: see `server.bench.moves`."""

from server.bench.moves import main

if __name__ == "__main__":
    main()
