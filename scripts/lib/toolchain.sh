# shellcheck shell=bash
# Sourced by env.sh. Where the programs are that scripts/toolchain/build makes, and whether they can be made here.

TOOLCHAIN=$ROOT/scripts/toolchain
# shellcheck disable=SC2034 # for who sources this
TOOLCHAIN_NAMES=(compose-2.20 compose-5.4 compose-5.5 cli containerd runc engine)
TOOLCHAIN_GO=1.26
# Where Go's own installation is, which not every shell has on its PATH.
type -P go >/dev/null || [[ ! -x /usr/local/go/bin/go ]] || export PATH=$PATH:/usr/local/go/bin

# Counts up when scripts/toolchain/build makes other programs of the same modules.
TOOLCHAIN_RECIPE=1

# toolchain_folder NAME: named after what goes into the programs, so that a changed module is built anew. With TOOLCHAIN_ARCH
# (arm64) in the environment, those of another machine.
toolchain_folder() {
  local recipe
  recipe=$({ echo "$TOOLCHAIN_RECIPE" && cat "$TOOLCHAIN/$1"/go.{mod,sum}; } | sha256sum | cut -c1-12)
  printf '%s/toolchain/%s-%s%s\n' "$STATE" "$1" "$recipe" "${TOOLCHAIN_ARCH:+-$TOOLCHAIN_ARCH}"
}

# With WITHOUT_TOOLCHAIN in the environment nothing of it is used, as on a machine that has never built it.
toolchain_has() { [[ -z ${WITHOUT_TOOLCHAIN:-} && -d $(toolchain_folder "$1") ]]; }

toolchain_possible() { [[ -z $(toolchain_why_not) ]]; }

toolchain_why_not() {
  local version oldest
  type -P go >/dev/null || {
    printf 'Go is not installed'
    return
  }
  version=$(GOTOOLCHAIN=local go env GOVERSION)
  oldest=$(printf '%s\n' "$TOOLCHAIN_GO" "${version#go}" | sort -V | head -n 1)
  [[ $oldest == "$TOOLCHAIN_GO" ]] || printf 'Go %s is older than %s' "${version#go}" "$TOOLCHAIN_GO"
}

module_of() {
  case $1 in
    compose-2.*) printf 'github.com/docker/compose/v2' ;;
    compose-*) printf 'github.com/docker/compose/v5' ;;
    cli) printf 'github.com/docker/cli' ;;
    containerd) printf 'github.com/containerd/containerd/v2' ;;
    runc) printf 'github.com/opencontainers/runc' ;;
  esac
}

# version_of NAME: as the program itself says it. The engine's module counts apart from the engine.
version_of() {
  if [[ $1 == engine ]]; then
    printf '29.8.1\n'
    return
  fi
  awk -v module="$(module_of "$1")" '{ sub(/^require /, "") } $1 == module { sub(/^v/, "", $2); sub(/\+.*/, "", $2); print $2; exit }' \
    "$TOOLCHAIN/$1/go.mod"
}
