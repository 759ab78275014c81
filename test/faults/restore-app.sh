#!/bin/sh
# App and worker of an instance whose data is compared byte by byte: a version writes only at its first start, unless
# LIVE is set. Each start writes the version of its data to the witness, which is in no restore point. A bad release runs
# the commands of AT_BOOT, IN_MIGRATION and AT_END in its app, and those of IN_WORKER in its worker.
version=$(cat /etc/svc-version)
# Process 1 of a container ignores signals that it does not handle.
[ -n "$IS_DEAF" ] || trap 'exit 0' TERM INT
pause() {
  /bin/busybox sleep "$1" &
  wait $!
}

# After a kill, the engine gives the database another address, so that connections to the old address must time out.
export PGCONNECT_TIMEOUT=3 MYSQL_PWD="$DB_PASSWORD" PGPASSWORD="$DB_PASSWORD"
ldap() {
  "$@" -x -o nettimeout=3 -H ldap://db -w "$DB_PASSWORD"
}
ask() {
  case $DB_KIND in
    postgres) echo "$1" | psql -h db -U svc -d svc -X -q -A -t -v ON_ERROR_STOP=1 ;;
    mariadb) echo "$1" | mariadb -h db -u root --connect-timeout=3 --batch --skip-column-names svc ;;
    redis) printf 'AUTH "%s"\r\n%s\r\nQUIT\r\n' "$DB_PASSWORD" "$1" | /bin/busybox timeout 5 /bin/busybox nc db 6379 | /bin/busybox tr -d '\r' ;;
    openldap)
      case $1 in *cn=config*) owner=cn=admin,cn=config ;; *) owner=cn=admin,dc=svc ;; esac
      echo "$1" | ldap ldapmodify -D $owner >/dev/null
      ;;
    *) cat /uploads/schema ;;
  esac
}
schema() {
  case $DB_KIND in
    redis) ask 'GET schema' | /bin/busybox grep '^v' ;;
    openldap) ldap ldapsearch -LLL -D cn=admin,dc=svc -b cn=schema,dc=svc description | /bin/busybox sed -n 's/^description: //p' | /bin/busybox grep '^v' ;;
    *) ask 'SELECT max(version) FROM schema_of' ;;
  esac
}
migrate() {
  case $DB_KIND in
    postgres | mariadb) ask "UPDATE things SET name = upper(name) WHERE id % 2 = 0; DELETE FROM things WHERE id % 7 = 0; ALTER TABLE things ADD COLUMN level integer DEFAULT 7; INSERT INTO schema_of VALUES ('$version');" ;;
    redis) ask "EVAL \"for n=1,2000 do redis.call('SET','thing:'..n,'migrated') end redis.call('SET','schema','$version')\" 0" ;;
    openldap) ask "dn: cn=thing 7,dc=svc
changetype: delete

dn: cn=schema,dc=svc
changetype: modify
replace: description
description: $version" ;;
  esac
}
row() {
  case $DB_KIND in
    postgres | mariadb) ask "INSERT INTO live VALUES ('$boot', $1);" ;;
    redis) ask "RPUSH live:$boot $1" | /bin/busybox grep -q '^:' ;;
    openldap) ask "dn: cn=$boot.$1,ou=live,dc=svc
changetype: add
objectClass: organizationalRole" ;;
  esac
}
# Writes a row, then a line, then the witness: the numbers always differ by one at most, in this order. A start of a good
# version waits until the gate is open; with `hold`, only current writers continue, and with `paused`, none.
write_on() {
  boot=$1-$version-$(cat /proc/sys/kernel/random/uuid)
  until [ "$(cat /witness/gate)" = open ] || [ -n "$FAULT_APP" ]; do pause 0.2; done
  n=0
  while :; do
    while [ "$(cat /witness/gate)" = paused ] && [ -z "$FAULT_APP" ]; do pause 0.1; done
    n=$((n + 1))
    until row $n; do pause 0.3; done
    echo $n >>"/uploads/live/$boot"
    echo $n >"/witness/wrote/$boot"
  done
}

[ "$1" != app ] || eval "$AT_BOOT"
# A database may be starting.
rows=$(schema 2>/tmp/why) || rows=closed
echo "$1 $version on $(cat /data/schema) $(cat /uploads/schema) $rows" >>/witness/boots
until [ "$rows" != closed ]; do
  pause 0.3
  rows=$(schema 2>/tmp/why) || rows=closed
done

# The old version never migrates any data.
if [ "$1" = app ] && [ -n "$MIGRATES" ] && [ "$rows" != "$version" ]; then
  migrate
  eval "$IN_MIGRATION"
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
  eval "$AT_END"
  [ -n "$FAULT_APP" ] || httpd -f -p 8080 -h /www &
else
  eval "$IN_WORKER"
  : >/tmp/alive
fi
[ -z "$LIVE" ] || write_on "$1"
while :; do pause 3600; done
