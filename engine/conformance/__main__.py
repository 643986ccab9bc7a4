"""python -m engine.conformance"""

import sys

from engine.conformance.checks import main

if __name__ == "__main__":
    sys.exit(main())
