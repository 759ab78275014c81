#!/bin/sh
# Installs svc: sh install.sh [DIRECTORY], by default ~/.local/bin. FROM may name another place of a release's files, FILE=svc.mjs
# chooses the client that needs Node 22.12 or later, and is 300 times smaller than the one that needs glibc and libstdc++ alone.
set -eu
from=${FROM:-https://github.com/acme/svc-updater/releases/latest/download} to=${1:-$HOME/.local/bin} new=$(mktemp -d)
case $(uname -sm) in 'Linux x86_64') own=svc-linux-amd64 ;; 'Linux aarch64') own=svc-linux-arm64 ;; *) own=svc.mjs ;; esac
file=${FILE:-$own}
trap 'rm -rf "$new" "$to/.svc-$$"' EXIT && trap 'exit 1' HUP INT TERM
die() { echo "install.sh: $1; nothing was installed" >&2 && exit 1; }
load() { if command -v curl >/dev/null; then curl -fsSL --proto-redir =https "$1"; else wget -t 1 -qO- "$1"; fi; }
get() { load "$from/$1" >"$new/$1" || die "no $1 came from $from"; }

get SHA256SUMS && get "$file"
sum=$({ sha256sum "$new/$file" || shasum -a 256 "$new/$file"; } 2>/dev/null | cut -c1-64)
grep -qxF "$sum  $file" "$new/SHA256SUMS" || die "$file is not the one that SHA256SUMS names"

# Who has signed it is asked where there is a cosign: https://docs.sigstore.dev
if command -v cosign >/dev/null; then
  get release.json && get release.json.sigstore.json
  (cd "$new" && cosign verify-blob --bundle release.json.sigstore.json \
    --certificate-identity-regexp '^https://github\.com/acme/svc-updater/\.github/workflows/release\.yml@refs/tags/v' \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com release.json) || die 'nobody who is known has signed it'
  grep -q "\"$file\": *\"sha256:$sum\"" "$new/release.json" || die "$file is not the one that was signed"
fi

mkdir -p "$to" && cp "$new/$file" "$to/.svc-$$" && chmod 755 "$to/.svc-$$" || die "$to cannot be written"
"$to/.svc-$$" --version >/dev/null || die "$file does not run here: FILE=svc.mjs does where there is Node 22.12 or later"
mv "$to/.svc-$$" "$to/svc" || die "no svc in $to"
echo "$file is installed as $to/svc"
