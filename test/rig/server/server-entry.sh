#!/bin/sh
# Starts the app as a real server; all other roles are unchanged.
case $1 in
  app) exec /bin/node /srv/server.mjs ;;
  *) exec /bin/entry.sh "$@" ;;
esac
