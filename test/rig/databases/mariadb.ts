import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { busybox } from '../busybox.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const entry = fileURLToPath(new URL('mariadb-entry.sh', import.meta.url));

const suite = 'bookworm';
/** Of MariaDB 10.11: server, clients, and what they are linked with. */
const packages =
  'mariadb-server-core mariadb-client-core mariadb-client libmariadb3 libaio1 libbsd0 libc6 libcap2 libcrypt1 libedit2 libgcc-s1 libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libmd0 libncurses6 libnuma1 libpcre2-8-0 libssl3 libstdc++6 libsystemd0 libtinfo6 liburing2 libzstd1 zlib1g'.split(
    ' ',
  );

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
chmod 755 "$root"
mkdir -p "$root"/{bin,etc,tmp,proc,sys,dev,run/mysqld,usr/bin,usr/share,usr/lib/mysql/plugin,var/lib/mysql}
for name in "$@"; do dpkg-deb -x "$(apt_file "$debs" "$name")" "$root"; done
rm -rf "$root"/usr/share/{doc,man,locale,lintian,bug,gcc,gdb} "$root"/usr/lib/*/gconv "$root/etc/mysql"
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do [[ $applet == busybox || -e $root/bin/$applet ]] || ln -s busybox "$root/bin/$applet"; done
cp "$entry" "$root/bin/docker-entrypoint.sh"
chmod 755 "$root/bin/docker-entrypoint.sh"
printf 'root:x:0:0::/:/bin/sh\nmysql:x:999:999::/var/lib/mysql:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nmysql:x:999:\n' >"$root/etc/group"
tar --create --numeric-owner --owner=0 --group=0 --sort=name --directory "$root" . |
  docker import --change 'ENV PATH=/usr/sbin:/usr/bin:/bin' --change 'ENV LANG=C.UTF-8' --change 'VOLUME /var/lib/mysql' \
    --change 'EXPOSE 3306' --change 'ENTRYPOINT ["docker-entrypoint.sh"]' --change 'CMD ["mariadbd"]' - "$image"
`;

let made: Promise<string> | undefined;

/**
 * In place of the public image of MariaDB: of Debian's packages, with the public one's variables, volume and way to begin.
 * Gives its name on the engine; it is made once, and stays.
 */
export function mariadbImage(): Promise<string> {
  made ??= makeImage();
  return made;
}

async function makeImage(): Promise<string> {
  const recipe = createHash('sha256')
    .update(make)
    .update(await readFile(entry))
    .update(packages.join());
  const image = `svc-test-mariadb:10.11-${recipe.digest('hex').slice(0, 8)}`;
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
