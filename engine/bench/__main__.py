"""python -m engine.bench"""

import sys

from engine.bench.search import main

if __name__ == "__main__":
    sys.exit(main())
