import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { busybox } from '../busybox.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const entry = fileURLToPath(new URL('postgres-entry.sh', import.meta.url));

export type PostgresMajor = 15 | 17;

/** The Debian release that has it, and its names for what differs. */
const suites = {
  15: [
    'bookworm',
    'libicu72 libldap-2.5-0 libreadline8 libssl3 libgnutls30 libhogweed6 libnettle8 libunistring2',
  ],
  17: [
    'trixie',
    'libicu76 libldap2 libreadline8t64 libssl3t64 libgnutls30t64 libhogweed6t64 libnettle8t64 libunistring5',
  ],
} as const;

/** What the server and its extensions are linked with; not the compiler for large queries. */
const libraries = `libaudit1 libc-bin libc6 libcap-ng0 libcap2 libcom-err2 libffi8 libgcc-s1 libgcrypt20 libgmp10 libgpg-error0
  libgssapi-krb5-2 libidn2-0 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 liblz4-1 liblzma5 libp11-kit0 libpam0g
  libpcre2-8-0 libpq5 libsasl2-2 libselinux1 libstdc++6 libsystemd0 libtasn1-6 libtinfo6 libuuid1 libxml2 libxslt1.1 libxxhash0 tzdata
  libzstd1 zlib1g`;

/** Unpacks without installing, and hands the folder to the engine. */
const make = String.raw`
set -euo pipefail
. scripts/lib/env.sh
. scripts/lib/apt.sh
image=$1 suite=$2 entry=$3 busybox=$4
shift 4
debs=$STATE/debs/$suite
apt_fetch "$suite" "$debs" "${'$'}{@/%/=}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,etc,tmp,proc,sys,dev,usr/bin,usr/share,var/run,var/lib/postgresql/data}
for name in "$@"; do dpkg-deb -x "$(apt_file "$debs" "$name")" "$root"; done
rm -rf "$root"/usr/share/{zoneinfo/right,doc,man,locale,lintian,bug,gcc,gdb} "$root"/usr/lib/postgresql/*/lib/{bitcode,llvmjit*} "$root"/usr/lib/*/gconv
# Newer releases have all programs and libraries below usr; what asks for the loader asks for it without.
[[ -e $root/lib64 ]] || ln -s usr/lib64 "$root/lib64"
[[ -e $root/lib ]] || ln -s usr/lib "$root/lib"
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do [[ $applet == busybox || -e $root/bin/$applet ]] || ln -s busybox "$root/bin/$applet"; done
for file in "$root"/usr/lib/postgresql/*/bin/*; do ln -sf "${'$'}{file#"$root"}" "$root/usr/bin/${'$'}{file##*/}"; done
cp "$entry" "$root/bin/docker-entrypoint.sh"
printf 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\npostgres:x:999:\n' >"$root/etc/group"
tar --create --numeric-owner --owner=0 --group=0 --sort=name --directory "$root" . |
  docker import --change 'ENV PATH=/usr/bin:/bin' --change 'ENV PGDATA=/var/lib/postgresql/data' --change 'ENV LANG=C.UTF-8' \
    --change 'VOLUME /var/lib/postgresql/data' --change 'STOPSIGNAL SIGINT' --change 'EXPOSE 5432' \
    --change 'ENTRYPOINT ["docker-entrypoint.sh"]' --change 'CMD ["postgres"]' - "$image"
`;

const made = new Map<PostgresMajor, Promise<string>>();

/**
 * In place of the public image of PostgreSQL: of Debian's packages, with the public one's variables, volume and way to begin.
 * Gives its name on the engine; it is made once, and stays.
 */
export function postgresImage(major: PostgresMajor): Promise<string> {
  const image = made.get(major) ?? makeImage(major);
  made.set(major, image);
  return image;
}

async function makeImage(major: PostgresMajor): Promise<string> {
  const [suite, own] = suites[major];
  const packages = `postgresql-${major} postgresql-client-${major} ${own} ${libraries}`.split(/\s+/);
  const recipe = createHash('sha256')
    .update(make)
    .update(await readFile(entry))
    .update(packages.join());
  const image = `svc-test-postgres:${major}-${recipe.digest('hex').slice(0, 8)}`;
  const there = await execa('docker', ['image', 'inspect', image], { reject: false, timeout: 60_000 });
  if (there.exitCode === 0) return image;
  await busybox();
  const program = `${root}.cache/busybox`;
  await execa('bash', ['-c', make, 'make', image, suite, entry, program, ...packages], {
    cwd: root,
    timeout: 600_000,
  });
  return image;
}
