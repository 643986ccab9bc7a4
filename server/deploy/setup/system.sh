#!/bin/sh
# system.sh NAME...: installs the named programs that are missing. On Debian and Ubuntu it uses apt-get when allowed
# (root, or sudo without a password). Elsewhere, or if that fails, it lists what to install and exits with 1.
set -eu
PYTHON=${PYTHON:-python3}

have() { command -v "$1" >/dev/null 2>&1; }

# Whether this is Debian itself: only there apt-get has Chromium's headless shell.
is_debian() { [ -r /etc/os-release ] && grep -qx 'ID="\?debian"\?' /etc/os-release; }

# "yes" until apt-get has had its try.
strict=yes

is_installed() {
    case $1 in
        python) have python3 ;;
        venv) "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ;;
        chromium)
            have chromium-headless-shell && return
            # The suite takes a third longer with the whole browser, so it is enough only where the shell is not had.
            if [ "$strict" = yes ] && is_debian && may_install; then return 1; fi
            have chromium || have chromium-browser || have google-chrome
            ;;
        mosquitto) have mosquitto || [ -x /usr/sbin/mosquitto ] ;;
        haproxy) have haproxy || [ -x /usr/sbin/haproxy ] ;;
        postgresql) have initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
        openssl) have openssl ;;
        node) have node && have npm ;;
        *) echo "system.sh: unknown name: $1" >&2; exit 2 ;;
    esac
}

debian_packages() {
    case $1 in
        python) echo "python3 python3-venv" ;;
        venv) echo "python3-venv python$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv" ;;
        chromium) if is_debian; then echo chromium-headless-shell; else echo chromium; fi ;;
        node) if have node; then echo npm; else echo "nodejs npm"; fi ;;
        *) echo "$1" ;;
    esac
}

purpose() {
    case $1 in
        python) echo "Python 3.11 or newer" ;;
        venv) echo "Python's venv module" ;;
        chromium) echo "Chromium, for the browser tests" ;;
        mosquitto) echo "the Mosquitto broker, for the bus tests" ;;
        haproxy) echo "HAProxy, for the cluster tests" ;;
        postgresql) echo "PostgreSQL's programs, for the store tests" ;;
        openssl) echo "OpenSSL's command, for certificates in the tests of TLS" ;;
        node) echo "Node and npm, for the type check of the browser client and make bench-peers" ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    have apt-get && { [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

# Debian starts a service when its package is installed; the tests start their own processes, so no service must run.
forbid_services() {
    [ -e /usr/sbin/policy-rc.d ] && return
    printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
    as_root chmod 755 /usr/sbin/policy-rc.d
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

install() {
    forbid_services
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get update -q && apt-get install -q -y --no-install-recommends "$@"' sh "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
    fi
    rm -f "$log"
}

missing=""
packages=""
for name in "$@"; do
    if ! is_installed "$name"; then
        missing="$missing $name"
        packages="$packages $(debian_packages "$name")"
    fi
done
[ -n "$missing" ] || exit 0

if may_install; then
    echo "Installing with apt-get:$packages ..."
    # shellcheck disable=SC2086
    install $packages
fi
strict=no

still_missing=""
for name in $missing; do
    is_installed "$name" || still_missing="$still_missing $name"
done
[ -n "$still_missing" ] || exit 0

echo "Plyroom needs these programs, which are not installed:" >&2
for name in $still_missing; do
    echo "  - $(purpose "$name")    (Debian: apt-get install $(debian_packages "$name"))" >&2
done
exit 1
