"""python -m server.bench"""

from server.bench.moves import main

if __name__ == "__main__":
    main()
