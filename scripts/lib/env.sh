# shellcheck shell=bash
# Sourced by the scripts beside this folder: where things are, how they speak, and which docker client they call.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
REGISTRY=127.0.0.1:5000

# Everything a script keeps between runs lives here, outside the work tree. For root the engine's data is in it too.
if [[ -n ${SVC_UPDATER_DEV_STATE:-} ]]; then
  STATE=$SVC_UPDATER_DEV_STATE
elif [[ $(id -u) == 0 ]]; then
  STATE=/var/lib/svc-updater-dev
else
  STATE=${XDG_STATE_HOME:-$HOME/.local/state}/svc-updater-dev
fi
export ROOT REGISTRY STATE
# shellcheck source=scripts/lib/toolchain.sh
. "$ROOT/scripts/lib/toolchain.sh"

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The client that finds compose is put first on the PATH by a folder that holds nothing else, so that no other program
# changes its place; tests and scripts can then simply call `docker`. The newest where scripts/toolchain has built it. Else
# the machine's own: one of another origin may come first and look for plugins where Debian puts none.
choose_docker() {
  # Who builds another machine's programs calls this one's.
  local candidate found= TOOLCHAIN_ARCH=
  if toolchain_has cli && toolchain_has compose-5.4; then
    put_newest_docker_first
    return
  fi
  while read -r candidate; do
    [[ -x $candidate && $candidate != "$STATE/bin/docker" ]] || continue
    if "$candidate" compose version >/dev/null 2>&1; then
      found=$candidate
      break
    fi
  done < <(
    type -aP docker || true
    printf '/usr/bin/docker\n'
  )
  [[ -n $found ]] || return 1
  [[ $found == "$(type -P docker)" ]] && return 0
  mkdir -p "$STATE/bin"
  ln -sfn "$found" "$STATE/bin/docker"
  put_first "$STATE/bin"
}

# The command finds plugins in folders of the whole machine or of the user's settings, which are not ours to write to: its
# compose is called as it would call it.
put_newest_docker_first() {
  local cli compose name program
  cli=$(toolchain_folder cli)/docker
  compose=$(toolchain_folder compose-5.4)/docker-compose
  mkdir -p "$STATE/newest"
  cat >"$STATE/newest/docker.$$" <<SH
#!/bin/sh
[ "\${1-}" != compose ] || DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND=docker exec '$compose' "\$@"
exec '$cli' "\$@"
SH
  chmod 755 "$STATE/newest/docker.$$"
  mv "$STATE/newest/docker.$$" "$STATE/newest/docker"
  # Tests that kill an engine start one of their own.
  for name in engine containerd runc; do
    toolchain_has "$name" || break
    for program in "$(toolchain_folder "$name")"/*; do ln -sfn "$program" "$STATE/newest/${program##*/}"; done
  done
  put_first "$STATE/newest"
}

put_first() {
  [[ $PATH == "$1:"* ]] || export PATH=$1:$PATH
  hash -r
}

# Seconds are few and a dead engine may hold a connection open for ever.
engine_answers() { timeout 5 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# Whether /dev/shm takes programs.
memory_runs() { [[ -w /dev/shm ]] && ! grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts; }

# Bash alone, because neither curl nor wget need be there.
registry_answers() {
  local line=
  exec 3<>"/dev/tcp/${REGISTRY%:*}/${REGISTRY#*:}" || return 1
  printf 'GET /v2/ HTTP/1.0\r\nHost: %s\r\n\r\n' "$REGISTRY" >&3
  IFS= read -r -t 3 line <&3 || true
  exec 3>&- 3<&-
  [[ $line == *' 200 '* ]]
} 2>/dev/null

# registry_digest REFERENCE: what its registry has under this tag; of an index, which has all platforms.
registry_digest() {
  local told
  told=$(timeout 60 docker buildx imagetools inspect --format '{{json .Manifest}}' "$1") || return
  # The manifest's own comes before those of its platforms.
  [[ $told =~ \"digest\":[[:space:]]*\"(sha256:[0-9a-f]{64})\" ]] || return
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# Dependencies as the lock file says; done anew when it is newer than what is installed.
need_node_modules() {
  type -P npm >/dev/null || die 'npm is not installed: Node 22.12 or later is needed'
  if [[ ! -e $ROOT/node_modules/.package-lock.json || $ROOT/package-lock.json -nt $ROOT/node_modules/.package-lock.json ]]; then
    say 'installing node_modules (npm ci)'
    (cd "$ROOT" && npm ci --no-audit --no-fund) || return
    # npm keeps the time of an unchanged list.
    touch "$ROOT/node_modules/.package-lock.json"
  fi
}

choose_docker || true
