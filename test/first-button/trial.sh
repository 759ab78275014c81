#!/bin/sh
# Builds two releases of larder, and installs the first one in the folder trial.
set -eu
registry=127.0.0.1:5000
docker run -d --name larder-registry -p "$registry:5000" registry:2 || docker start larder-registry

publish() {
  docker build --build-arg VERSION="$1" --tag "$registry/larder:$1" .
  docker build --build-arg VERSION="$1" --tag "$registry/larder-updates:$1" updates
  docker push "$registry/larder:$1"
  docker push "$registry/larder-updates:$1"
}
publish v1.0.0
publish v1.1.0

mkdir -p trial/feed
sed "s#ghcr.io/acme/#$registry/#" compose.yaml > trial/compose.yaml
cat > trial/compose.override.yaml <<'END'
services:
  updates:
    environment:
      SVC_SERVE_FEED: '{ "url": "http://feed/releases.json" }'
  feed:
    image: busybox
    init: true
    command: [httpd, -f, -h, /feed]
    volumes: ['./feed:/feed:ro']
END
echo '{ "releases": [{ "version": "v1.1.0", "notes": "The first update." }] }' > trial/feed/releases.json
printf 'LARDER_VERSION=v1.0.0\nUPDATES_SECRET=%s\n' "$(openssl rand -hex 32)" > trial/.env
cd trial
docker compose up -d --wait
