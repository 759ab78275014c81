import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file in the user's directory that root owns and everybody may write. */
export const strange = 'strange';

/** A user id that is not used on this machine. */
const user = 4242;

/** The reason why no rootless engine can run here, found by trying; null if one can. */
export function whyNotRootless(): string | null {
  const home = mkdtempSync(join(tmpdir(), 'svct-rootless-'));
  // Lets the user traverse the directory.
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
 * Runs a command as an ordinary user in the namespaces of rootlesskit, like `dockerd-rootless.sh`: the user is root
 * only there. The user's name, subordinate ids and network device are in a separate mount namespace, invisible to this
 * machine.
 * @param directory the user's home directory, removed with everything in it
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
