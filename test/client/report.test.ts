import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { play, svc } from './rig.ts';

it('svc instance report saves the archive for its owner alone, or prints it', async () => {
  const { url, asked } = await play();
  const file = join(await mkdtemp(join(tmpdir(), 'svc-report-')), 'report.tar.gz');
  const saved = await svc(url, `instance report --output ${file}`);
  expect([saved.exitCode, saved.out, saved.err]).toEqual([0, '', expect.stringContaining(`Saved ${file}.`)]);
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['a simulated report', 0o600]);
  writeFileSync(file, 'another');
  const again = await svc(url, `instance report --output ${file}`);
  expect([again.exitCode, again.err, readFileSync(file, 'utf8')]).toEqual([
    1,
    `cannot write ${file} (EEXIST)\n`,
    'another',
  ]);
  const printed = await svc(url, 'instance report --output -');
  expect([printed.exitCode, printed.out]).toEqual([0, 'a simulated report']);
  expect(asked).toEqual(['GET /report', 'GET /report', 'GET /report']);
});
