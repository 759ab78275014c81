# shellcheck shell=bash
# Sourced after env.sh and apt.sh. Where the public base images cannot be pulled, makes images with the same programs at
# the same paths out of what scripts/toolchain built, or of Debian packages, and of the Node that npm installed. For tests;
# nothing is released from them.

# shellcheck source=scripts/lib/node-package.sh
. "$ROOT/scripts/lib/node-package.sh"

STANDIN_FOLDER=$STATE/standins
# Which machine's; make_standins sets another one.
STANDIN_ARCH=

# choose_programs toolchain|debian: whose client and compose the stand-in has. COMPOSE names another module of
# scripts/toolchain than the public image's compose.
choose_programs() {
  STANDIN_FROM=$1
  if [[ $1 == toolchain ]]; then
    STANDIN_COMPOSE_MODULE=${COMPOSE:-compose-5.4}
    STANDIN_CLI=$(version_of cli)
    STANDIN_COMPOSE=$(version_of "$STANDIN_COMPOSE_MODULE")
  else
    STANDIN_CLI=28.5.2
    STANDIN_COMPOSE=2.40.3
  fi
}

# Sets CLI_IMAGE and NODE_IMAGE. Builds only what is not there for the same versions and this recipe.
use_standins() {
  local recipe node_version
  type -P apt-get dpkg-deb >/dev/null || die 'the public base images cannot be pulled, and stand-ins need a Debian machine'
  recipe=$({ cat "${BASH_SOURCE[0]}" && printf '%s' "$TOOLCHAIN_RECIPE"; } | sha256sum | cut -c1-8)
  node_version=$("$ROOT/node_modules/.bin/node" --version) || die 'node_modules/.bin/node does not run: npm ci'
  CLI_IMAGE=svc-updater-standin/cli:$STANDIN_CLI-$STANDIN_COMPOSE-$recipe
  NODE_IMAGE=svc-updater-standin/node:${node_version#v}-$recipe
  make_standins ''
}

# use_standins_for ARCH…: as use_standins, but images of several platforms, which only a registry holds: that on loopback.
use_standins_for() {
  local arch name own=()
  use_standins
  [[ $STANDIN_FROM == toolchain ]] || die 'stand-ins for another machine need the programs of scripts/toolchain/build'
  for name in "$CLI_IMAGE" "$NODE_IMAGE"; do
    own=()
    for arch in "$@"; do
      [[ $arch == "$(dpkg --print-architecture)" ]] || make_standins "$arch"
      docker tag "$name$(standin_suffix "$arch")" "$REGISTRY/$name-$arch"
      docker push --quiet "$REGISTRY/$name-$arch" >/dev/null
      own+=("$REGISTRY/$name-$arch")
    done
    docker buildx imagetools create --tag "$REGISTRY/$name" "${own[@]}" >/dev/null 2>&1 ||
      die "$REGISTRY does not take $name for several platforms: scripts/engine up"
  done
  CLI_IMAGE=$REGISTRY/$CLI_IMAGE
  NODE_IMAGE=$REGISTRY/$NODE_IMAGE
}

standin_suffix() { [[ $1 == "$(dpkg --print-architecture)" ]] || printf -- '-%s' "$1"; }

# make_standins ARCH: those that are not there; of this machine where it is empty.
make_standins() {
  local STANDIN_ARCH=$1 suffix=${1:+-$1}
  docker image inspect "$CLI_IMAGE$suffix" >/dev/null 2>&1 || make_cli_standin "$CLI_IMAGE$suffix"
  docker image inspect "$NODE_IMAGE$suffix" >/dev/null 2>&1 || make_node_standin "$NODE_IMAGE$suffix"
}

make_cli_standin() {
  local made=$1 codename debs=$STATE/debs${STANDIN_ARCH:+-$STANDIN_ARCH} root=$STANDIN_FOLDER/cli plugins applet
  local -x APT_ARCH=$STANDIN_ARCH TOOLCHAIN_ARCH=$STANDIN_ARCH
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  if [[ $STANDIN_FROM == toolchain ]]; then
    say "making the stand-in $made from the programs built of their Go modules and Debian packages"
    "$ROOT/scripts/toolchain/build" cli "$STANDIN_COMPOSE_MODULE"
  else
    say "making the stand-in $made from Debian packages"
    apt_fetch sid "$debs/sid" "docker-cli=$STANDIN_CLI" "docker-compose=$STANDIN_COMPOSE"
  fi
  apt_fetch sid "$debs/sid" docker-buildx=
  apt_fetch "$codename" "$debs/$codename" libc6= busybox-static= ca-certificates= attr= acl= tar= rsync= \
    libacl1= libattr1= libselinux1= libpcre2-8-0= libpopt0= liblz4-1= libzstd1= libxxhash0= libssl3= zlib1g=
  rm -rf "$root"
  mkdir -p "$root"/{image,unpacked/usr/bin}

  local name names=(docker-buildx)
  [[ $STANDIN_FROM == toolchain ]] || names+=(docker-cli docker-compose)
  for name in "${names[@]}"; do
    dpkg-deb -x "$(apt_file "$debs/sid" "$name")" "$root/unpacked"
  done
  if [[ $STANDIN_FROM == toolchain ]]; then
    cp "$(toolchain_folder cli)/docker" "$root/unpacked/usr/bin/docker"
    cp "$(toolchain_folder "$STANDIN_COMPOSE_MODULE")/docker-compose" "$root/unpacked/usr/libexec/docker/cli-plugins/docker-compose"
  fi
  for name in busybox-static ca-certificates attr acl tar rsync; do
    dpkg-deb -x "$(apt_file "$debs/$codename" "$name")" "$root/unpacked"
  done
  for name in libc6 libacl1 libattr1 libselinux1 libpcre2-8-0 libpopt0 liblz4-1 libzstd1 libxxhash0 libssl3 zlib1g; do
    dpkg-deb -x "$(apt_file "$debs/$codename" "$name")" "$root/image"
  done
  # Character sets nobody converts between, documentation, and what of OpenSSL rsync does not use.
  rm -rf "$root"/image/usr/lib/*/{gconv,audit,engines-3,ossl-modules,libssl.so.3} "$root"/image/usr/share

  plugins=usr/local/libexec/docker/cli-plugins
  mkdir -p "$root/image"/{bin,dev,etc/ssl/certs,proc,root,sys,tmp,usr/bin,usr/local/bin,usr/local/lib,var,"$plugins"}
  chmod 1777 "$root/image/tmp"
  mv "$root/unpacked/usr/bin/docker" "$root/image/usr/local/bin/docker"
  mv "$root/unpacked/usr/libexec/docker/cli-plugins/"docker-{compose,buildx} "$root/image/$plugins/"
  mv "$root/unpacked/bin/busybox" "$root/image/bin/busybox"
  mv "$root/unpacked/usr/bin/"{{get,set}fattr,rsync} "$root/unpacked/bin/"{setfacl,tar} "$root/image/usr/bin/"
  # Another machine's does not run here, and is of the same version.
  APT_ARCH='' apt_fetch "$codename" "$STATE/debs/$codename" busybox-static=
  dpkg-deb -x "$(apt_file "$STATE/debs/$codename" busybox-static)" "$root/own"
  for applet in $("$root/own/bin/busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$root/image/bin/$applet"
  done
  cat "$root"/unpacked/usr/share/ca-certificates/mozilla/*.crt >"$root/image/etc/ssl/certs/ca-certificates.crt"
  printf 'root:x:0:0:root:/%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' root >"$root/image/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/image/etc/group"
  printf 'hosts: files dns\n' >"$root/image/etc/nsswitch.conf"
  # As in the public image: an entrypoint and an environment that must not come through, and programs to be taken out.
  printf '#!/bin/sh\nexec docker "$@"\n' >"$root/image/usr/local/bin/docker-entrypoint.sh"
  printf '#!/bin/sh\n' >"$root/image/usr/bin/git"
  printf '#!/bin/sh\n' >"$root/image/usr/bin/ssh"
  chmod 755 "$root/image/usr/local/bin/docker-entrypoint.sh" "$root/image/usr/bin/git" "$root/image/usr/bin/ssh"

  import_standin "$root/image" "$made" \
    --change "ENV DOCKER_VERSION=$STANDIN_CLI" --change 'ENV DOCKER_TLS_CERTDIR=/certs' \
    --change 'ENTRYPOINT ["docker-entrypoint.sh"]' --change 'CMD ["sh"]'
  rm -rf "$root"
}

make_node_standin() {
  local made=$1 root=$STANDIN_FOLDER/node
  say "making the stand-in $made from the npm package node"
  rm -rf "$root"
  mkdir -p "$root"/image/usr/{lib,local/bin}
  if [[ -z $STANDIN_ARCH ]]; then own_node "$root"; else fetch_node "$root"; fi
  import_standin "$root/image" "$made" --change 'ENV NODE_VERSION=24' --change 'CMD ["node"]'
  rm -rf "$root"
}

own_node() {
  local root=$1 library
  cp "$ROOT/node_modules/.bin/node" "$root/image/usr/local/bin/node"
  if type -P strip >/dev/null && strip -o "$root/stripped" "$root/image/usr/local/bin/node" && "$root/stripped" --version >/dev/null; then
    mv "$root/stripped" "$root/image/usr/local/bin/node"
  fi
  for library in libstdc++.so.6 libgcc_s.so.1; do
    add_library "$root" "$(ldd "$ROOT/node_modules/.bin/node" | awk -v l="$library" '$1 == l { print $3 }')"
  done
}

# Of another machine: npm's package, and Debian's libraries.
fetch_node() {
  local root=$1 codename debs=$STATE/debs-$STANDIN_ARCH name library
  unpack_node "${STANDIN_ARCH/amd64/x64}" "$root"
  mv "$root/package/bin/node" "$root/image/usr/local/bin/node"
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  APT_ARCH=$STANDIN_ARCH apt_fetch "$codename" "$debs/$codename" libstdc++6= libgcc-s1=
  for name in libstdc++6 libgcc-s1; do
    dpkg-deb -x "$(apt_file "$debs/$codename" "$name")" "$root/libraries"
  done
  for library in libstdc++.so.6 libgcc_s.so.1; do
    add_library "$root" "$(find "$root/libraries" -name "$library")"
  done
}

# A link beside its file, as in the public image.
add_library() {
  local file
  file=$(basename "$(readlink -f "$2")")
  cp -L "$2" "$1/image/usr/lib/$file"
  [[ -e $1/image/usr/lib/$(basename "$2") ]] || ln -s "$file" "$1/image/usr/lib/$(basename "$2")"
}

# import_standin FOLDER NAME CHANGE…
import_standin() {
  local folder=$1 name=$2
  shift 2
  chmod 755 "$folder"
  tar --create --numeric-owner --owner=0 --group=0 --sort=name --directory "$folder" . |
    docker import --platform "linux/${STANDIN_ARCH:-$(dpkg --print-architecture)}" "$@" - "$name" >/dev/null
}
