import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { askEngine } from '../rig/engine-api.ts';

const checkPauseMs = 500;

/**
 * The command that serves a separate Podman, instead of a daemon. Its packages are laid over `/usr` and `/etc`, so
 * that the caller has to be in its own mount namespace.
 * @param packages folder with their `usr` and `etc`
 * @param directory for its data and the socket
 */
export async function podmanService(packages: string, directory: string): Promise<string[]> {
  for (const folder of ['usr', 'etc']) {
    const own = ['upper', 'work'].map((name) => join(directory, `podman-${folder}-${name}`));
    for (const name of own) await mkdir(name);
    const options = `lowerdir=${join(packages, folder)}:/${folder},upperdir=${own[0]},workdir=${own[1]}`;
    await execa('mount', ['-t', 'overlay', 'overlay', '-o', options, `/${folder}`], { timeout: 10_000 });
  }
  // crun does not work with controllers in both versions of cgroups.
  await execa('umount', ['/sys/fs/cgroup/unified'], { reject: false, timeout: 10_000 });
  const runtime = join(directory, 'crun');
  await writeFile(runtime, withoutLimits, { mode: 0o755 });
  const files = {
    'containers.conf': `[containers]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "tests"
[engine.runtimes]
tests = ["${runtime}"]
[network]
network_backend = "netavark"
firewall_driver = "iptables"
`,
    'storage.conf': `[storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = "${join(directory, 'data')}"
`,
    'registries.conf': `unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "127.0.0.1"
location = "127.0.0.1"
insecure = true
`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const env = [
    `CONTAINERS_CONF=${join(directory, 'containers.conf')}`,
    `CONTAINERS_STORAGE_CONF=${join(directory, 'storage.conf')}`,
    `CONTAINERS_REGISTRIES_CONF=${join(directory, 'registries.conf')}`,
    'PODMAN_IGNORE_CGROUPSV1_WARNING=1',
  ];
  const socket = `unix://${join(directory, 'docker.sock')}`;
  // With CONTAINER_HOST, Podman would only be a client; with XDG_RUNTIME_DIR, crun does not start.
  const without = ['-u', 'CONTAINER_HOST', '-u', 'XDG_RUNTIME_DIR'];
  return ['env', ...without, ...env, 'podman', 'system', 'service', '--time=0', socket];
}

/** Podman sets limits that only the machine's real root may set, which the root of a container is not. */
const withoutLimits = `#!/bin/sh
was=
for word in "$@"; do
  file=
  case $was in --bundle | -b) file=$word/config.json ;; --process | -p) file=$word ;; esac
  [ ! -f "$file" ] || sed -i -E 's/"rlimits":\\[[^]]*\\],?//; s/,\\}/}/g' "$file"
  was=$word
done
exec crun "$@"
`;

/** Replaces systemd, whose timers run the health checks of containers. Returns a function that stops it. */
export function runHealthChecks(): () => void {
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const filters = encodeURIComponent(JSON.stringify({ health: ['starting', 'healthy', 'unhealthy'] }));
      const { body } = await askEngine('GET', `/containers/json?filters=${filters}`);
      const checked = (JSON.parse(body) as { Id: string; Labels: Record<string, string> }[]).filter(
        ({ Labels }) => Labels[unchecked] === undefined,
      );
      await Promise.all(
        checked.map(({ Id }) => askEngine('GET', `/v1.41/libpod/containers/${Id}/healthcheck`)),
      );
      await new Promise((resolve) => setTimeout(resolve, checkPauseMs));
    }
  };
  run().catch((error) => {
    if (!isOver) console.error(`nobody runs health checks any more: ${error}`);
  });
  return () => {
    isOver = true;
  };
}

/** The label of containers whose health checks are not run. */
export const unchecked = 'svct.unchecked';
