#!/bin/sh
# Starts Mosquitto with mosquitto.conf and the passwords of secrets.sh, which it hashes first.
set -eu
umask 077
out=${OUT:-/tmp}
cp "${PASSWORDS:-/run/secrets/mosquitto_passwords}" "$out/passwords"
mosquitto_passwd -U "$out/passwords"
sed "s|^password_file .*|password_file $out/passwords|" "${CONFIG:-/mosquitto/config/mosquitto.conf}" >"$out/mosquitto.conf"
exec mosquitto -c "$out/mosquitto.conf"
