#!/bin/sh
# As the public image of PostgreSQL begins: the same variables, the same folder, trust for who comes by the socket.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
user=${POSTGRES_USER:-postgres}
as() { start-stop-daemon --start --chuid postgres --exec "$@"; }

[ "$1" != postgres ] || shift
mkdir -p "$PGDATA" /var/run/postgresql
chown -R postgres "$PGDATA" /var/run/postgresql
chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  [ -z "$POSTGRES_PASSWORD_FILE" ] || POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  (umask 77 && printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password)
  chown postgres /tmp/password
  as "$bin/initdb" -- --pgdata "$PGDATA" --username "$user" --pwfile /tmp/password --no-sync \
    --encoding UTF8 --locale C.UTF-8 --auth-host scram-sha-256 --auth-local trust
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  [ "${POSTGRES_DB:-$user}" = postgres ] ||
    echo "CREATE DATABASE \"${POSTGRES_DB:-$user}\"" | as "$bin/postgres" -- --single -D "$PGDATA" postgres >/dev/null
fi
exec start-stop-daemon --start --chuid postgres --exec "$bin/postgres" -- -D "$PGDATA" -c 'listen_addresses=*' "$@"
