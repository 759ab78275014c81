#!/bin/sh
# Installs the svc client: sh install.sh [DIRECTORY]. DIRECTORY defaults to ~/.local/bin, FROM to the latest release on GitHub.
# The default client needs only glibc and libstdc++. FILE=svc.mjs installs a much smaller one, which needs Node 22.12 or later.
set -eu
from=${FROM:-https://github.com/acme/svc-updater/releases/latest/download} to=${1:-$HOME/.local/bin} new=$(mktemp -d)
case $(uname -sm) in 'Linux x86_64') own=svc-linux-amd64 ;; 'Linux aarch64') own=svc-linux-arm64 ;; *) own=svc.mjs ;; esac
trap 'rm -rf "$new" "$to/.svc-$$"' EXIT && trap 'exit 1' HUP INT TERM
die() { echo "install.sh: $1; nothing was installed" >&2 && exit 1; }
load() { if command -v curl >/dev/null; then curl -fsSL --proto-redir =https "$1"; else wget -t 1 -SO- "$1" 2>"$new/log"; fi; }
get() { load "$from/$1" >"$new/$1" && ! grep -qis '^ *location: *http:' "$new/log" || die "cannot download $1 from $from"; }

file=${FILE:-$own} && get SHA256SUMS && get "$file"
sum=$({ sha256sum "$new/$file" || shasum -a 256 "$new/$file"; } 2>/dev/null | cut -c1-64)
grep -qxF "$sum  $file" "$new/SHA256SUMS" || die "$file does not match its checksum in SHA256SUMS"

# If cosign is installed, the signature is verified, too: https://docs.sigstore.dev
if command -v cosign >/dev/null; then
  get release.json && get release.json.sigstore.json
  (cd "$new" && cosign verify-blob --bundle release.json.sigstore.json \
    --certificate-identity-regexp '^https://github\.com/acme/svc-updater/\.github/workflows/release\.yml@refs/tags/v' \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com release.json) || die 'release.json: invalid signature'
  grep -q "\"$file\": *\"sha256:$sum\"" "$new/release.json" || die "$file does not match its checksum in the signed release.json"
fi

mkdir -p "$to" && cp "$new/$file" "$to/.svc-$$" && chmod 755 "$to/.svc-$$" || die "cannot write to $to"
version=$("$to/.svc-$$" --version) || die "$file does not run on this machine; with Node 22.12 or later, try FILE=svc.mjs"
case ${from##*/} in v[0-9]*) [ "$version" = "svc ${from##*/}" ] || die "$from contains $version" ;; esac
mv "$to/.svc-$$" "$to/svc" || die "cannot create $to/svc"
echo "installed $file as $to/svc"
