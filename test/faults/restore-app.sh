#!/bin/sh
# App and worker of an instance whose data is compared to the last byte: a version writes when it first starts, and never again.
# Each start tells the witness, which is in no restore point, which data it found.
version=$(cat /etc/svc-version)
trap 'exit 0' TERM INT
pause() {
  /bin/busybox sleep "$1" &
  wait $!
}

# An engine that was killed gives the database another address, so connections to the old one must time out.
export PGCONNECT_TIMEOUT=3
ask() {
  case $DB_KIND in
    postgres) PGPASSWORD=$DB_PASSWORD psql -h db -U svc -d svc -X -q -A -t -v ON_ERROR_STOP=1 -c "$1" ;;
    redis) printf 'AUTH "%s"\r\n%s\r\nQUIT\r\n' "$DB_PASSWORD" "$1" | /bin/busybox timeout 5 /bin/busybox nc db 6379 | /bin/busybox tr -d '\r' ;;
    *) cat /uploads/schema ;;
  esac
}
schema() {
  case $DB_KIND in
    redis) ask 'GET schema' | /bin/busybox grep '^v' ;;
    *) ask 'SELECT max(version) FROM schema_of' ;;
  esac
}
migrate() {
  case $DB_KIND in
    postgres) ask "UPDATE things SET name = upper(name) WHERE id % 2 = 0; DELETE FROM things WHERE id % 7 = 0; ALTER TABLE things ADD COLUMN level integer DEFAULT 7; INSERT INTO schema_of VALUES ('$version')" ;;
    redis) ask "EVAL \"for n=1,2000 do redis.call('SET','thing:'..n,'migrated') end redis.call('SET','schema','$version')\" 0" ;;
  esac
}

# A database may be starting.
rows=$(schema 2>/tmp/why) || rows=closed
echo "$1 $version on $(cat /data/schema) $(cat /uploads/schema) $rows" >>/witness/boots
until [ "$rows" != closed ]; do
  pause 0.3
  rows=$(schema 2>/tmp/why) || rows=closed
done

# The old version never migrates, whatever it finds.
if [ "$1" = app ] && [ -n "$MIGRATES" ] && [ "$rows" != "$version" ]; then
  migrate
  for directory in /data /uploads; do
    cd $directory
    echo "$version" >>stamp
    /bin/busybox rm -f gone
    mv kept moved
    /bin/busybox mkdir -p "made/by $version"
    for n in 1 2 3 4 5 6 7 8 9; do echo "$n" >"made/by $version/$n"; done
    echo "$version" >schema
  done
fi
if [ "$1" = app ]; then
  [ -n "$FAULT_APP" ] || httpd -f -p 8080 -h /www &
else
  : >/tmp/alive
fi
while :; do pause 3600; done
