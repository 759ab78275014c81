#!/bin/sh
# Starts like the public image of redis, with an append-only file that is synced at every write.
set -e
[ -e /data/redis.conf ] || printf '%s\n' 'dir /data' 'appendonly yes' 'appendfsync always' \
  'enable-debug-command yes' "requirepass \"${REDIS_PASSWORD:?}\"" >/data/redis.conf
chown -R redis /data
exec start-stop-daemon --start --chuid redis --exec /usr/bin/redis-server -- /data/redis.conf
