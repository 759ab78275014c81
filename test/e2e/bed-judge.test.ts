import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { judge, walk } from '../bed/judge/look.ts';

// What scripts/campaign bed believes. Its databases are judged by `scripts/campaign bed --unguarded`.

const seeder = fileURLToPath(new URL('../bed/seed-files.py', import.meta.url));
let root: string;
let before: Awaited<ReturnType<typeof walk>>;
const at = (...names: string[]) => join(root, ...names);
const python = (...lines: string[]) =>
  execFileSync('python3', ['-c', ['import os', ...lines].join('\n'), root]);

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'bed-judge-'));
  execFileSync('python3', [seeder, root, '60']);
  before = await walk(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function told(): Promise<string[]> {
  const seen = (uploads: typeof before) => ({ files: { uploads }, database: {}, surroundings: {} });
  return judge(seen(before), seen(await walk(root)));
}

describe('the judge of files', () => {
  it('has nothing to tell of what is the same', async () => {
    expect(await told()).toEqual([]);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['a byte', () => writeFileSync(at('leaf'), 'a Leaf\n'), /"leaf".*sha256/],
    ['a file that is gone', () => unlinkSync(at('tree', 'empty')), /"tree\/empty".*found null/],
    ['a new file', () => writeFileSync(at('tree', 'new'), ''), /"tree\/new": expected null/],
    ['a mode', () => chmodSync(at('program'), 0o700), /"program".*mode/],
    ['a set-user bit', () => chmodSync(at('plain.txt'), 0o755), /"plain.txt".*mode/],
    ['an owner', () => chownSync(at('leaf'), 0, 5), /"leaf".*owner.*0:5/],
    ['a link’s owner', () => execFileSync('chown', ['-h', '0:0', at('dangling')]), /"dangling".*owner/],
    [
      'a time, by a millionth of a second',
      () =>
        python(
          'import sys',
          'path = sys.argv[1] + "/leaf"',
          'time = os.stat(path).st_mtime_ns + 1000',
          'os.utime(path, ns=(time, time))',
        ),
      /"leaf".*time/,
    ],
    ['the time of the root', () => utimesSync(root, 5, 5), /"\.".*time/],
    [
      'where a link leads',
      () => {
        unlinkSync(at('link'));
        symlinkSync('leaf', at('link'));
      },
      /"link".*"to":"leaf"/,
    ],
    [
      'a hard link that is a copy',
      () => {
        copyFileSync(at('plain.txt'), at('copy'));
        renameSync(at('copy'), at('tree', 'second name'));
      },
      /"tree\/second name".*same/,
    ],
    ['a new hard link', () => linkSync(at('leaf'), at('leaf2')), /"leaf2"/],
    [
      'a directory for a file',
      () => {
        unlinkSync(at('leaf'));
        mkdirSync(at('leaf'));
      },
      /"leaf".*"kind":"directory"/,
    ],
    [
      'an attribute',
      () => python('import sys', 'os.removexattr(sys.argv[1] + "/plain.txt", "user.origin")'),
      /"plain.txt".*user\.origin/,
    ],
    [
      'an access list',
      () => python('import sys', 'os.removexattr(sys.argv[1] + "/shared", "system.posix_acl_default")'),
      /"shared".*posix_acl_default/,
    ],
    [
      'a capability',
      () => python('import sys', 'os.removexattr(sys.argv[1] + "/program", "security.capability")'),
      /"program".*security\.capability/,
    ],
    [
      'holes that are filled',
      () => {
        execFileSync('cp', ['-p', '--sparse=never', at('holes'), at('full')]);
        renameSync(at('full'), at('holes'));
      },
      /"holes".*"holes":false/,
    ],
  ])('tells %s', async (_, change, fact) => {
    change();
    expect((await told()).join('\n')).toMatch(fact);
  });
});
