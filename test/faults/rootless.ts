import { existsSync } from 'node:fs';

/** Nobody of this machine. */
const user = 4242;

/** What the machine lacks to have an engine of a user's own; null where it lacks nothing. */
export function whyNotRootless(): string | null {
  const wanted = ['rootlesskit', 'slirp4netns', 'newuidmap', 'setpriv'];
  const missing = wanted.filter((name) => !existsSync(`/usr/bin/${name}`));
  if (missing.length > 0) return `${missing.join(', ')} missing (Debian: rootlesskit slirp4netns uidmap)`;
  return existsSync('/dev/net/tun') ? null : 'there is no /dev/net/tun';
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
exec setpriv --reuid ${user} --regid ${user} --clear-groups -- "$@"`;
