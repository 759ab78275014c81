# shellcheck shell=bash
# Sourced after env.sh. Takes single packages from another Debian suite without telling the machine's own apt about it.

debian() { [[ -r /etc/debian_version ]] && type -P apt-get dpkg dpkg-deb >/dev/null; }

# Prints the mirror that the machine's own sources name for its own release, in whatever format they are.
apt_mirror() {
  local codename uri
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  uri=$(mirror_of "$codename")
  # apt tells of what it has lists of; many container images come without any.
  if [[ -z $uri && $(id -u) == 0 ]]; then
    apt-get -qq update >&2
    uri=$(mirror_of "$codename")
  fi
  [[ -n $uri ]] || die "apt knows no Debian mirror for ${codename:-this release}: is it in its sources, and does apt-get update reach it?"
  printf '%s\n' "$uri"
}

mirror_of() {
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
    awk -v release="$1" '$1 == release && $2 == "main" && $4 == "Debian" { print $3; exit }'
}

# apt_fetch SUITE FOLDER NAME=[VERSION]…: leaves NAME_VERSION*.deb of the suite in FOLDER. Where the suite has moved on, its
# present version is taken, and that is said. Files that are there are not fetched again. APT_ARCH in the environment asks for those
# of another machine.
apt_fetch() {
  local suite=$1 folder=$2 want name version home mirror missing=()
  shift 2
  mkdir -p "$folder"
  for want in "$@"; do
    compgen -G "$folder/${want%%=*}_${want#*=}*.deb" >/dev/null || missing+=("$want")
  done
  ((${#missing[@]})) || return 0

  mirror=$(apt_mirror)
  home=$STATE/apt/$suite${APT_ARCH:+-$APT_ARCH}
  mkdir -p "$home"/{etc/parts,lists/partial,cache/archives/partial}
  : >"$home/status"
  # The machine's own keyring signs for every suite of the same archive.
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite" >"$home/etc/sources.list"
  : >"$home/status"
  local own=(
    # An installed package may be of another suite, such as the security updates: its version would be preferred.
    -o "Dir::State::status=$home/status"
    -o "Dir::Etc::SourceList=$home/etc/sources.list"
    -o "Dir::Etc::SourceParts=$home/etc/parts"
    -o "Dir::Etc::Preferences=$home/etc/preferences"
    -o "Dir::Etc::PreferencesParts=$home/etc/parts"
    -o "Dir::State::Lists=$home/lists"
    # Otherwise a version that is installed here from elsewhere counts as the newest, and the suite does not have it.
    -o "Dir::State::status=$home/status"
    -o "Dir::Cache=$home/cache"
    -o 'APT::Sandbox::User=root'
    -o 'APT::Update::Post-Invoke-Success='
    -o 'Acquire::Languages=none'
    -o 'Acquire::Retries=3'
    -qq
  )
  [[ -z ${APT_ARCH:-} ]] || own+=(-o "APT::Architecture=$APT_ARCH" -o "APT::Architectures=$APT_ARCH")
  apt-get "${own[@]}" update
  for want in "${missing[@]}"; do
    name=${want%%=*} version=${want#*=}
    if ! (cd "$folder" && apt-get "${own[@]}" download "$name${version:+=$version*}" 2>/dev/null); then
      say "  $suite has no $name $version any more, taking the version that it has"
      (cd "$folder" && apt-get "${own[@]}" download "$name")
    fi
  done
}

# apt_file FOLDER NAME: the newest fetched file of a package.
apt_file() {
  local file
  file=$(find "$1" -maxdepth 1 -name "$2_*.deb" -printf '%T@ %p\n' | sort -rn | head -n 1 | cut -d' ' -f2-)
  [[ -n $file ]] || die "package $2 was not fetched into $1"
  printf '%s\n' "$file"
}

# need_programs PROGRAM=PACKAGE…: installs the packages of the machine's own release whose programs are missing.
need_programs() {
  local want missing=()
  for want in "$@"; do
    PATH=$PATH:/usr/sbin:/sbin type -P "${want%%=*}" >/dev/null || missing+=("${want#*=}")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# Of tests: one that lacks some of these fails and says so, or is skipped.
need_tools() {
  need_programs mkfs.exfat=exfatprogs mount.exfat-fuse=exfat-fuse mkfs.xfs=xfsprogs mkfs.btrfs=btrfs-progs setfacl=acl \
    rsync=rsync haproxy=haproxy getfattr=attr openssl=openssl busybox=busybox \
    chromium-headless-shell=chromium-headless-shell rootlesskit=rootlesskit slirp4netns=slirp4netns newuidmap=uidmap
}

# install_packages PACKAGE…: of the machine's own release.
install_packages() {
  debian && [[ $(id -u) == 0 ]] || die "these packages are missing, and root on Debian would install them: $*"
  say "installing on this machine, from this release: $*"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" \
    </dev/null | sed 's/^/  /'
}
