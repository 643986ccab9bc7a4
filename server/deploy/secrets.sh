#!/bin/sh
# secrets.sh [FOLDER]: creates random passwords for the cluster, unless they exist, in a folder that only its owner
# can read (default: secrets, beside docker-compose.yml).
set -eu
folder=${1:-secrets}
umask 077
mkdir -p "$folder"

random() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }

put() { [ -e "$folder/$1" ] || printf '%s\n' "$2" >"$folder/$1"; }

put postgres_password "$(random)"
put database_url "postgresql://plyroom:$(cat "$folder/postgres_password")@postgres:5432/plyroom"
put mosquitto_passwords "server:$(random)
worker:$(random)"
password() { sed -n "s/^$1://p" "$folder/mosquitto_passwords"; }
put bus_url "mqtt://server:$(password server)@mosquitto:1883"
put worker_bus_url "mqtt://worker:$(password worker)@mosquitto:1883"
# The programs in the containers are not root and must read the files; the folder keeps other users out.
chmod 0644 "$folder"/*
echo "The cluster's passwords are in $folder."
