#!/bin/sh
# Entry point of the stand-in for the public PostgreSQL image, with the same variables and the same data directory.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
data=${PGDATA:-/var/lib/postgresql/data}
as() { start-stop-daemon --start --chuid postgres --exec "$@"; }

mkdir -p "$data" /var/run/postgresql /tmp
chown -R postgres "$data" /var/run/postgresql
chmod 700 "$data"
chmod 1777 /tmp
if [ ! -s "$data/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  chown postgres /tmp/password
  as "$bin/initdb" -- --pgdata "$data" --username "$POSTGRES_USER" --pwfile /tmp/password --no-sync \
    --encoding UTF8 --locale C --auth-host scram-sha-256 --auth-local trust
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | as "$bin/postgres" -- --single -D "$data" postgres >/dev/null
fi
exec start-stop-daemon --start --chuid postgres --exec "$bin/postgres" -- -D "$data" -c 'listen_addresses=*'
