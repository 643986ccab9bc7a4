#!/bin/sh
# Starts Mosquitto with mosquitto.conf and the passwords of secrets.sh, which it hashes first.
set -eu
umask 077
made=${MADE:-/tmp}
cp "${PASSWORDS:-/run/secrets/mosquitto_passwords}" "$made/passwords"
mosquitto_passwd -U "$made/passwords"
sed "s|^password_file .*|password_file $made/passwords|" "${CONFIG:-/mosquitto/config/mosquitto.conf}" >"$made/mosquitto.conf"
exec mosquitto -c "$made/mosquitto.conf"
