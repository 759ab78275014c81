import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { busybox } from '../busybox.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A stand-in for the public image of a database: the same variables, volume and entry point, from Debian packages. */
export interface DebianImage {
  /** Name and version, used in its tag. */
  name: string;
  suite: 'bookworm' | 'trixie';
  /** The server, its clients and their libraries, separated by spaces. */
  packages: string;
  /** The entry script, in this folder. */
  entry: string;
  /** A Bash script, run in the unpacked root `$root`. */
  prepare?: string;
  /** Lines of `/etc/passwd`; a group of the same name is created. */
  user: string;
  /** Additional lines of a Dockerfile. */
  changes: readonly string[];
}

const make = String.raw`
set -euo pipefail
. scripts/lib/env.sh
. scripts/lib/apt.sh
image=$1 suite=$2 entry=$3 busybox=$4 user=$5 prepare=$6 changes=$7
shift 7
debs=$STATE/debs/$suite
apt_fetch "$suite" "$debs" "${'$'}{@/%/=}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,etc,tmp,proc,sys,dev,run,var/run,usr/bin,usr/share}
for name in "$@"; do dpkg-deb -x "$(apt_file "$debs" "$name")" "$root"; done
rm -rf "$root"/usr/share/{zoneinfo/right,doc,man,locale,lintian,bug,gcc,gdb} "$root"/usr/lib/*/gconv
# Newer releases have all programs and libraries in usr, but the loader is looked for outside.
[[ -e $root/lib64 ]] || ln -s usr/lib64 "$root/lib64"
[[ -e $root/lib ]] || ln -s usr/lib "$root/lib"
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do [[ $applet == busybox || -e $root/bin/$applet ]] || ln -s busybox "$root/bin/$applet"; done
eval "$prepare"
cp "$entry" "$root/bin/docker-entrypoint.sh"
chmod 755 "$root/bin/docker-entrypoint.sh"
printf 'root:x:0:0::/:/bin/sh\n%s:x:999:999::/:/bin/sh\n' "$user" >"$root/etc/passwd"
printf 'root:x:0:\n%s:x:999:\n' "$user" >"$root/etc/group"
mapfile -t lines <<<"$changes"
tar --create --numeric-owner --owner=0 --group=0 --sort=name --directory "$root" . |
  docker import "${'$'}{lines[@]/#/--change=}" - "$image"
`;

const made = new Map<string, Promise<string>>();

/** Creates the image on the engine if it is missing, and returns its name. */
export function debianImage(recipe: DebianImage): Promise<string> {
  const image = made.get(recipe.name) ?? makeImage(recipe);
  made.set(recipe.name, image);
  return image;
}

async function makeImage(recipe: DebianImage): Promise<string> {
  const { name, suite, packages, prepare = '', user, changes } = recipe;
  const entry = fileURLToPath(new URL(recipe.entry, import.meta.url));
  const hash = createHash('sha256')
    .update(make)
    .update(await readFile(entry));
  const image = `svc-test-${name}-${hash.update(JSON.stringify(recipe)).digest('hex').slice(0, 8)}`;
  const there = await execa('docker', ['image', 'inspect', image], { reject: false, timeout: 60_000 });
  if (there.exitCode === 0) return image;
  await busybox();
  const lines = ['ENTRYPOINT ["docker-entrypoint.sh"]', ...changes].join('\n');
  const given = [image, suite, entry, `${root}.cache/busybox`, user, prepare, lines];
  const args = ['-c', make, 'make', ...given, ...packages.trim().split(/\s+/)];
  await execa('bash', args, { cwd: root, timeout: 600_000 });
  return image;
}
