import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeOf, read, tablesOf } from '../documents/documents.ts';
import { debianImage } from '../rig/databases/debian-image.ts';
import { askEngine, engineSocket } from '../rig/engine-api.ts';

// docs/drop-root.md: its scripts, and the programs in its table.

const page = read('docs/drop-root.md');
const scripts = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, script = '']) => script);
const [entrypoint = '', bySetpriv = '', byS6 = '', init = ''] = scripts;
const [, named = [], numbered = []] = tablesOf(page)[0]?.rows ?? [];
/** Debian has no package of su-exec. */
const programsOf = ([programs = '']: string[]) =>
  codeOf(programs).filter((program) => !program.startsWith('su-exec '));

let image: string;
let group: string;

beforeAll(async () => {
  image = await debianImage({
    name: 'drop-root:1',
    suite: 'bookworm',
    packages:
      'dash gosu netcat-openbsd s6 util-linux libbsd0 libc6 libcap-ng0 libexecline2.9 libmd0 libs6-2.11 libskarnet2.13',
    entry: 'drop-root-entry.sh',
    // Unlike BusyBox's shell, dash does not replace setpriv by BusyBox's. s6 needs nsswitch.conf, which all images of Debian have.
    prepare: `ln -sf dash "$root/bin/sh"; printf 'passwd: files\\ngroup: files\\n' >"$root/etc/nsswitch.conf"`,
    user: 'app',
    changes: ['ENV PATH=/usr/sbin:/usr/bin:/bin'],
  });
  const { stdout } = await execa('stat', ['-c', '%g', engineSocket]);
  group = stdout;
}, 300_000);

/** The response of the engine to a process that the script starts as another user, such as `OK` or `Permission denied`. */
async function connect(script: string, options: string[] = []): Promise<string> {
  const request = String.raw`printf 'GET /_ping HTTP/1.0\r\n\r\n' | nc.openbsd -U /var/run/docker.sock 2>&1; echo " user $(id -u)"`;
  const { all } = await execa(
    'docker',
    [
      ...['run', '--rm', '-e', 'PUID=999', '-e', 'PGID=999', ...options],
      ...[image, 'sh', '-c', script, 'entrypoint', 'sh', '-c', request],
    ],
    { all: true, timeout: 60_000, stdin: 'ignore' },
  );
  expect(all).toMatch(/ user [1-9]\d*$/);
  return /OK(?= user )|Permission denied|No such file or directory/.exec(all)?.[0] ?? all;
}

const ping = (script: string, options: string[] = []) =>
  connect(script, ['-v', `${engineSocket}:/var/run/docker.sock`, ...options]);

describe('a process that an entrypoint starts as another user', () => {
  test('is covered by the scripts of the page', async () => {
    expect(scripts).toHaveLength(4);
    expect([programsOf(named).length, programsOf(numbered).length]).toEqual([3, 3]);
    expect((await askEngine('GET', '/_ping')).body).toBe('OK');
  });

  test('reaches the socket with group_add if the container itself has the user', async () => {
    expect(await ping('exec "$@"', ['--user', 'app', '--group-add', group])).toBe('OK');
    expect(await ping('exec "$@"', ['--user', 'app'])).toBe('Permission denied');
  });

  test.each(programsOf(named))(
    'reaches the socket with the line in /etc/group, not with group_add: %s',
    async (program) => {
      const add = ['--group-add', group];
      expect(await ping(`exec ${program} "$@"`, add)).toBe('Permission denied');
      const script = entrypoint.replace('gosu app', program);
      expect(script).toContain(`exec ${program} "$@"`);
      expect(await ping(script)).toBe('OK');
      // PUID images: an init script runs before the service.
      expect(await ping(`${init.replaceAll('abc', 'app')}exec ${program} "$@"`)).toBe('OK');
    },
  );

  test.each(programsOf(numbered))('reaches the socket neither way with numbers: %s', async (program) => {
    const script = entrypoint.replace('gosu app', program);
    expect(await ping(script, ['--group-add', group])).toBe('Permission denied');
  });

  test.each([
    ['setpriv', bySetpriv],
    ['s6-applyuidgid', byS6],
  ])('reaches the socket with numbers if %s sets the group', async (program, script) => {
    expect(script).toContain(`exec ${program} `);
    expect(await ping(script, ['--read-only'])).toBe('OK');
  });

  // Existing installations have not mounted the socket.
  test.each([
    ['the entrypoint', entrypoint],
    ['setpriv', bySetpriv],
    ['s6-applyuidgid', byS6],
    ['the init script', `${init.replaceAll('abc', 'app')}exec s6-setuidgid app "$@"`],
  ])('starts without a socket: %s', async (_name, script) => {
    expect(await connect(script)).toBe('No such file or directory');
  });
});
