import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createReportArchive } from '../../../src/updater/report/report-parts.ts';

it('creates an archive that tar can read, identical for identical files', () => {
  const files = new Map([
    ['svc-report/a.txt', ''],
    ['svc-report/b.txt', 'é'.repeat(300)],
  ]);
  const input = createReportArchive(files);
  expect(createReportArchive(files).equals(input)).toBe(true);
  const tar = (...args: string[]) => execFileSync('tar', args, { input, encoding: 'utf8' });
  expect(tar('-tz')).toBe('svc-report/a.txt\nsvc-report/b.txt\n');
  expect(tar('-xzO')).toBe('é'.repeat(300));
});
