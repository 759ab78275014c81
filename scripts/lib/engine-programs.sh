# shellcheck shell=bash
# Sourced after env.sh and apt.sh, by the scripts that start engines: which programs an engine is of, and their packages.

# Debian 12's own docker.io is 20.10, without compose v2; these of Debian 13 install on it without touching libc.
SUITE=trixie
PACKAGES=(docker.io=26.1.5 docker-cli=26.1.5 docker-compose=2.26.1 docker-buildx=0.13.1 docker-registry=2.8.3)
# The release's own are new enough for that engine.
COMPANIONS=(containerd runc iptables)

NEWEST=(engine containerd runc)

has_newest() {
  local name
  for name in "${NEWEST[@]}"; do toolchain_has "$name" || return 1; done
}
program_path() {
  local name
  has_newest || return 0
  for name in "${NEWEST[@]}"; do printf '%s:' "$(toolchain_folder "$name")"; done
}

install_missing() {
  if type -P dockerd containerd runc iptables docker-registry >/dev/null && choose_docker; then return; fi
  local want files=()
  say "installing on this machine, from its own Debian mirror:"
  say "  from $SUITE: ${PACKAGES[*]/=/ }"
  say "  from this release: ${COMPANIONS[*]} and what they depend on"
  apt-get -qq update
  apt_fetch "$SUITE" "$STATE/debs/$SUITE" "${PACKAGES[@]}"
  for want in "${PACKAGES[@]}"; do
    files+=("$(apt_file "$STATE/debs/$SUITE" "${want%%=*}")")
  done
  say "  $(printf '%s ' "${files[@]##*/}")"
  keep_services_still
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 \
    "${files[@]}" "${COMPANIONS[@]}" </dev/null | sed 's/^/  /'
  let_services_be
  hash -r
}

# Without systemd an init script of the package would start a daemon in the middle of the installation.
keep_services_still() {
  [[ -d /run/systemd/system || -e /usr/sbin/policy-rc.d ]] && return
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

let_services_be() {
  if [[ $(trap -p EXIT) == *policy-rc.d* ]]; then
    rm -f /usr/sbin/policy-rc.d
    trap - EXIT
  fi
}

# wait_for SECONDS CHECK
wait_for() {
  local end=$((SECONDS + $1))
  while ! "$2"; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}

# Where the kernel knows no nf_tables, Debian's iptables fails until the legacy variant is called by its name.
packet_filter_path() {
  iptables -t nat -nL >/dev/null 2>&1 && return
  iptables-legacy -t nat -nL >/dev/null 2>&1 || return 0
  mkdir -p "$STATE/iptables"
  local name
  for name in iptables ip6tables; do
    ln -sfn "$(type -P "$name-legacy")" "$STATE/iptables/$name"
  done
  printf '%s:' "$STATE/iptables"
}
