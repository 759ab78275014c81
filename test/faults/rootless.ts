import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file in the user's folder that root has made, and that everybody may write. */
export const strange = 'strange';

/** Nobody of this machine. */
const user = 4242;

/** Why no engine of an ordinary user can be had here, by trying, or he cannot read these sources; null where one can. */
export function whyNotRootless(): string | null {
  const home = mkdtempSync(join(tmpdir(), 'svct-rootless-'));
  // For the user, who only passes.
  chmodSync(home, 0o755);
  try {
    const read = ['head', '--bytes=0', fileURLToPath(import.meta.url)];
    const args = ['--mount', '--net', '--', ...rootless(home, read)];
    const { status, stderr } = spawnSync('unshare', args, { encoding: 'utf8', timeout: 20_000 });
    return status === 0 ? null : `no rootless engine here: ${stderr.trim().split('\n').slice(-2).join('; ')}`;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * Runs a command as an ordinary user in the namespaces that rootlesskit gives him, as `dockerd-rootless.sh` does: he is root
 * there and nowhere else. His name, his subordinate users and his network device are in a table of mounts of their own, so
 * that this machine never sees them. @param directory his home, with which all of it goes
 */
export const rootless = (directory: string, command: readonly string[]): string[] => [
  ...['sh', '-c', setUp, 'sh', directory],
  ...['rootlesskit', '--net=slirp4netns', '--mtu=65520', '--disable-host-loopback', '--port-driver=builtin'],
  ...['--copy-up=/etc', '--copy-up=/run', '--propagation=rslave', `--state-dir=${directory}/rootlesskit`],
  ...command,
];

const setUp = `set -eu
home=$1; shift
mkdir "$home/etc"
cp /etc/passwd /etc/group "$home/etc"
echo "svc-rootless:x:${user}:${user}::$home:/bin/sh" >>"$home/etc/passwd"
echo "svc-rootless:x:${user}:" >>"$home/etc/group"
for file in subuid subgid; do echo svc-rootless:100000:65536 >"$home/etc/$file"; done
for file in passwd group subuid subgid; do mount --bind "$home/etc/$file" "/etc/$file"; done
mknod -m 666 "$home/tun" c 10 200
mount --bind "$home/tun" /dev/net/tun
mount --make-rshared /
chown -R ${user}:${user} "$home"
install -m 666 /dev/null "$home/${strange}"
exec setpriv --reuid ${user} --regid ${user} --clear-groups -- "$@"`;
