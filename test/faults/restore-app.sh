#!/bin/sh
# App and worker of an instance whose data are judged to the last byte: a version writes when it first starts on them, and
# never again. Each start tells the witness, whom no restore point holds, on which data it found itself.
version=$(cat /etc/svc-version)
trap 'exit 0' TERM INT
pause() {
  /bin/busybox sleep "$1" &
  wait $!
}

# The engine, killed and started again, gives a database another address: who waits for the old one gives up, and asks again.
export PGCONNECT_TIMEOUT=3
sql() {
  case $DB_KIND in
    mariadb) MYSQL_PWD=$DB_PASSWORD mariadb --connect-timeout=3 --host=db --user=svc --batch --skip-column-names svc -e "$1" ;;
    postgres) PGPASSWORD=$DB_PASSWORD psql -h db -U svc -d svc -X -q -A -t -v ON_ERROR_STOP=1 -c "$1" ;;
    *) cat /uploads/schema ;;
  esac
}

# A database may be starting, or closed.
rows=$(sql 'SELECT max(version) FROM schema_of' 2>/tmp/why) || rows=closed
echo "$1 $version on $(cat /data/schema) $(cat /uploads/schema) $rows" >>/witness/boots
until [ "$rows" != closed ]; do
  pause 0.3
  rows=$(sql 'SELECT max(version) FROM schema_of' 2>/tmp/why) || rows=closed
done

# The old version never migrates, whatever it finds.
if [ "$1" = app ] && [ -n "$MIGRATES" ] && [ "$rows" != "$version" ]; then
  [ -z "$DB_KIND" ] || sql "UPDATE things SET name = upper(name) WHERE id % 2 = 0; DELETE FROM things WHERE id % 7 = 0; ALTER TABLE things ADD COLUMN level integer DEFAULT 7; INSERT INTO schema_of VALUES ('$version')"
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
