"""`python -m server.bench.peers`: see `server.bench.peers.measure`."""

from server.bench.peers.measure import main

if __name__ == "__main__":
    main()
