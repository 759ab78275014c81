import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { play, serve, svc } from './rig.ts';

it('svc instance report saves an archive that only its owner can read, or prints the archive', async () => {
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

it.each([
  [
    'breaks off',
    'closed the connection before the response was complete',
    (response: ServerResponse) => response.destroy(),
  ],
  [
    'is endless',
    'is larger than 8 MiB',
    (response: ServerResponse) => response.write(Buffer.alloc(8 * 1024 * 1024)),
  ],
])('svc instance report saves no file for an archive that %s', async (_, message, afterwards) => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/gzip' });
    response.write('the beginning', () => afterwards(response));
  });
  const file = join(await mkdtemp(join(tmpdir(), 'svc-report-')), 'report.tar.gz');
  const { exitCode, err } = await svc(url, `instance report --output ${file}`);
  expect([exitCode, err, existsSync(file)]).toEqual([2, expect.stringContaining(message), false]);
});
