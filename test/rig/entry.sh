#!/bin/sh
# The program of every container of the test instance; the first argument is its role. The image's environment sets
# deliberate faults: FAULT_APP and FAULT_WORKER (exit, crash or unhealthy).
version=$(cat /etc/svc-version)

# As process 1, the shell receives no signal without a trap, and runs the trap only in `wait`.
stop() {
  [ -z "$STOP_DELAY" ] || sleep "$STOP_DELAY"
  until [ -z "$STOP_UNTIL" ] || [ -e "$STOP_UNTIL" ]; do
    : >"$STOP_UNTIL.asked"
    sleep 0.1
  done
  exit 0
}
trap stop TERM INT
pause() {
  sleep "$1" &
  wait $!
}
idle() {
  while :; do pause 3600; done
}

# With READY_WHEN=x, app and worker are healthy once the file /data/x-app or /data/x-worker exists.
ready() { [ -z "$READY_WHEN" ] || [ -e "/data/$READY_WHEN-$1" ]; }

# Every start appends a line, so that a test can detect that a version never ran.
boot() {
  echo "$1 $version" >>/data/boots
  case $2 in
    exit)
      echo "svc: cannot read the settings" >&2
      exit 1
      ;;
    crash)
      pause 1
      echo "svc: lost the database" >&2
      exit 1
      ;;
  esac
}

case $1 in
  app)
    boot app "$FAULT_APP"
    echo "svc $version: migrations run, listening on 8080"
    [ -z "$READY_AFTER" ] || pause "$READY_AFTER"
    until ready app; do pause 0.1; done
    [ "$FAULT_APP" = unhealthy ] || httpd -f -p 8080 -h /www &
    idle
    ;;
  worker)
    boot worker "$FAULT_WORKER"
    while :; do
      echo "$version" >"/data/.worker.$HOSTNAME"
      mv "/data/.worker.$HOSTNAME" /data/worker
      [ "$FAULT_WORKER" = unhealthy ] || ! ready worker || : >/tmp/alive
      pause 0.25
    done
    ;;
  db)
    echo started >>/var/lib/db/starts
    echo started >>/dump/starts
    idle
    ;;
  # once <name>: waits for the file /data/<name>, which contains the exit code
  once)
    echo "$2 $version begins" >>/data/once
    echo "svc $version: migrating with $DB_PASSWORD"
    while ! [ -s "/data/$2" ]; do pause 0.1; done
    echo "$2 $version ends" >>/data/once
    exit "$(cat "/data/$2")"
    ;;
  # hook <exit code>: waits for the file /data/hook-may-end
  hook)
    echo "begins" >>/data/hooks
    echo "svc $version: migrating with $DB_PASSWORD"
    until [ -e /data/hook-may-end ]; do sleep 0.1; done
    echo "svc: there is no table accounts" >&2
    echo "ends" >>/data/hooks
    exit "$2"
    ;;
  *)
    idle
    ;;
esac
