#!/bin/sh
# Creates the virtual environment $VENV with $PYTHON, or with a newer Python if that is older than 3.11. What is
# missing it installs or lists.
set -eu
PYTHON=${PYTHON:-python3}
VENV=${VENV:-.venv}
here=$(dirname "$0")

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

find_python() {
    for candidate in "$PYTHON" python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

if ! command -v "$PYTHON" >/dev/null 2>&1; then
    sh "$here/system.sh" python
fi
python=$(find_python)
if [ -z "$python" ]; then
    fail "Plyroom needs Python 3.11 or newer; $PYTHON is $("$PYTHON" -V 2>&1)." \
        "Install a newer one, then: make run PYTHON=/path/to/python3.x"
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    PYTHON="$python" sh "$here/system.sh" venv
fi
echo "Creating $VENV with $("$python" -V) ..."
rm -rf "$VENV"
"$python" -m venv "$VENV" || fail "Python could not create $VENV: see the message above."
