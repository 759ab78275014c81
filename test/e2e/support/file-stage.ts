import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { inject, onTestFinished } from 'vitest';
import type { DataWork, PointPlace } from '../../../src/agent/data/kind.ts';
import { Log } from '../../../src/agent/log/log.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { engineSocket } from '../../rig/engine-api.ts';
import { updaterImage } from '../../rig/updater-run.ts';

export const docker = async (...args: string[]) => (await execa('docker', args)).stdout.trim();
export const sh = (script: string, ...args: string[]) => execa('bash', ['-euc', script, 'bash', ...args]);

/** By GNU find, getfattr and sha256sum of this machine, which is root's: all that is to be as before: also which names are one file, and how much of it is holes. */
export const judged = async (directory: string): Promise<string> => {
  const script = `export LC_ALL=C; if [ -d "$1" ]; then cd "$1"; in=.; else cd "\${1%/*}"; in=./"\${1##*/}"; fi
    find "$in" -printf '%p|%y|%m|%U:%G|%s|%T@|%n|%l|%b\\0' | sort -z | sed -z 's/\\(|d|.*\\)|[0-9]*$/\\1/' | tr '\\0\\n' '\\n?'
    find "$in" -type f -printf '%i %p\\0' | sort -z -k2 | awk 'BEGIN { RS = "\\0" } { if (!($1 in n)) n[$1] = ++c; printf "%s=%d\\n", $0, n[$1] }' | sed 's/^[0-9]* //'
    find "$in" ! -type s -print0 | sort -z | xargs -0 getfattr -h -d -m - -e hex 2>/dev/null
    find "$in" -type f -print0 | sort -z | xargs -0 -r sha256sum
    find "$in" \\( -type b -o -type c \\) -print0 | sort -z | xargs -0 -r stat -c '%n %t %T'`;
  return (await sh(script, directory)).stdout;
};

/** All that a directory can have in it. */
export const makeTree = (directory: string) =>
  sh(
    `cd "$1"; umask 022
    mkdir -p plain deep/er/st sticky secret empty many handed
    echo text >plain/file; printf '#!/bin/sh\\n' >plain/run; chmod 4755 plain/run; chown 1234:4321 plain/file
    chown 3000000:3000001 plain/run; chmod 4755 plain/run
    ln plain/file deep/other-name; ln plain/file zz-last-name
    ln -s ../nowhere deep/dangling; ln -s /etc/passwd absolute; chown -h 77:88 absolute
    chmod 1777 sticky; chmod 0 secret; chmod 2775 handed; chown 0:555 handed
    truncate -s 500M holes; printf x | dd of=holes bs=1 seek=300000000 conv=notrunc status=none
    dd if=/dev/zero of=zeros bs=1M count=3 status=none; truncate -s 1M all-hole; fallocate -l 2M given
    mkfifo pipe; mknod null c 1 3; mknod disk b 7 200; chmod 640 disk
    printf 'n' >$'line\\nbreak'; printf 'b' >$'bytes-\\xff\\xfe'; printf s >' spaces and \\\\ '; printf d >-dash; printf u >"umläut"
    printf l >"$(printf 'x%.0s' {1..255})"
    long=$(printf 'y%.0s' {1..200}); mkdir -p deep/$long/$long; echo z >deep/$long/$long/$long
    setfattr -n user.z -v 1 plain/run; setfattr -n user.a -v "$(printf 'v%.0s' {1..300})" plain/run; setfattr -n user.m -v 0x00ff0a plain/run
    setcap cap_net_raw+ep deep/er/st/ 2>/dev/null || true
    cp plain/run deep/er/st/capable; setcap cap_net_bind_service+ep deep/er/st/capable; setfattr -n user.after -v 1 deep/er/st/capable
    setfattr -n user.root -v kept .
    setfattr -n system.posix_acl_access -v 0x0200000001000600ffffffff02000400d204000004000400ffffffff10000400ffffffff20000000ffffffff plain/file
    setfattr -n system.posix_acl_default -v 0x0200000001000700ffffffff02000700d304000004000500ffffffff10000700ffffffff20000500ffffffff handed
    echo inherits >handed/inherits
    chown 999:998 .; chmod 2750 .
    touch -h -d '1999-12-31 23:59:59.123456789' absolute plain/file; touch -d '2100-01-01 00:00:00.5' deep/er
    touch -d '1969-07-20 20:17:40.25' empty; touch -d '2001-02-03 04:05:06.7' .`,
    directory,
  );

export const spoil = (directory: string) =>
  sh(
    `cd "$1"; rm -rf deep; chmod 777 secret; echo more >>plain/file; echo new >added; setfattr -n user.evil -v 1 .; setfattr -x user.root .
    setfattr -n system.posix_acl_default -v 0x0200000001000700ffffffff02000700d304000004000500ffffffff10000700ffffffff20000500ffffffff .
    chmod 2777 .; chown 1:1 .; mkdir -p new/of/it; touch 'deep'`,
    directory,
  );

export interface Stage {
  directory: string;
  work: DataWork;
  place: PointPlace;
  run(service: string, flags: readonly string[], command?: readonly string[]): Promise<string>;
}

/** An engine's project with a directory of its own, and a restore point in that. @param at where the directory is made */
export async function stage(at = tmpdir()): Promise<Stage> {
  const { run: prefix, parts } = inject('host');
  const name = `${prefix}-files-${randomBytes(3).toString('hex')}`;
  const directory = await mkdtemp(join(at, `${name}-`));
  const point = join(directory, 'point');
  await mkdir(point, { mode: 0o700 });
  const image = `${parts}/db:1`;
  await docker('pull', '--quiet', image);
  onTestFinished(async () => {
    const ids = await docker('ps', '-aq', '--filter', `label=com.docker.compose.project=${name}`);
    if (ids) await docker('rm', '-fv', ...ids.split('\n'));
    const volumes = await docker('volume', 'ls', '-q', '--filter', `name=${name}`);
    if (volumes) await docker('volume', 'rm', ...volumes.split('\n'));
    await rm(directory, { recursive: true, force: true });
  });
  return {
    directory,
    work: {
      engine: new Engine(
        { host: `unix://${engineSocket}`, tls: [], configDirectory: '/nonexistent' },
        { home: '/' },
      ),
      log: new Log(() => {}),
      project: name,
      moved: ['app', 'worker'],
      toolsImage: await docker('image', 'inspect', '--format', '{{.Id}}', updaterImage),
    },
    place: { name: '20261121t104207z', here: point, host: point, isElsewhere: false },
    run: (service, flags, command = ['sleep', '1000']) =>
      docker(
        ...['run', '-d', '--stop-timeout', '0', '--network', 'none', '--entrypoint', '/bin/busybox'],
        ...[
          '--label',
          `com.docker.compose.project=${name}`,
          '--label',
          `com.docker.compose.service=${service}`,
        ],
        ...['--name', `${name}-${service}-${randomBytes(2).toString('hex')}`, ...flags, image, ...command],
      ),
  };
}
