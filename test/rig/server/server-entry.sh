#!/bin/sh
# Starts the app as a real server; every other part is played as ever.
case $1 in
  app) exec /bin/node /srv/server.mjs ;;
  *) exec /bin/entry.sh "$@" ;;
esac
