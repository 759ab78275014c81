import { describe, expect, it } from 'vitest';
import { read, tablesOf } from '../documents/documents.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { products } from './all.ts';
import { pointRowOf, rowOf, wordsOf } from './document.ts';
import { judgeMoved, judgeSame, type View } from './view.ts';
import { judgeEnd, judgeOwnWords } from './words.ts';

describe('docs/other-products.md', () => {
  it('has every product, its pins, and the words that are tried', () => {
    const [table] = tablesOf(read('docs/other-products.md'));
    expect(table?.rows.map((row) => row.slice(0, 3))).toEqual(products.map(rowOf));
  });

  it('has what a restore point keeps of every product, and what it does not', () => {
    const [, table] = tablesOf(read('docs/other-products.md'));
    expect(table?.rows).toEqual(products.map(pointRowOf));
  });

  it('has a command with the words of its product', () => {
    const [immich] = products;
    if (immich === undefined) throw new Error('there is no product');
    expect(read('docs/other-products.md')).toContain(`svc-updater:dev plan ${wordsOf(immich)}\n`);
    expect(read('docs/other-products.md')).toContain(`svc-updater:dev ${wordsOf(immich)}\n`);
  });
});

describe('the judge of scripts/campaign products', () => {
  const container = {
    ...{ id: 'old', service: 'server', image: 'sha256:old', reference: 'acme/photos:1.0.0' },
    ...{ startedAt: 'before', status: 'running', health: undefined, mounts: ['data:/data'] },
  };
  const before: View = {
    ...{ version: '1.0.0', networks: { p_default: 'n1' }, volumes: { p_data: '2026' }, files: {}, tags: {} },
    containers: { server: container, db: { ...container, service: 'db', image: 'sha256:db' } },
  };
  const server = { ...container, id: 'new', image: 'sha256:new', startedAt: 'now' };
  const after: View = { ...before, version: '1.1.0', containers: { ...before.containers, server } };
  const expected = { version: '1.1.0', services: ['server'], files: {}, well: true };

  it('tells a database that was made anew, and nothing of a good update', () => {
    expect(judgeMoved(before, after, expected)).toEqual([]);
    expect(judgeSame(before, before)).toEqual([]);
    expect(judgeSame(before, after)).toHaveLength(2);
    const db = { ...container, id: 'new', service: 'db', image: 'sha256:db' };
    expect(judgeMoved(before, { ...after, containers: { server, db } }, expected)).toEqual([
      expect.stringMatching(/^other containers: /),
    ]);
  });

  it('tells words that are not of the product, and an end without advice', () => {
    const [immich] = products;
    if (immich === undefined) throw new Error('there is no product');
    const said = (message: string): UpdateResult => ({
      ...{ exitCode: 3, log: message, durationMs: 0 },
      lines: [{ time: '2026-11-23T08:00:00.000Z', level: 'error', phase: 'done', message }],
    });
    expect(judgeOwnWords(immich, said('v2.5.5 → v2.6.0: recreate immich-server'))).toEqual([]);
    expect(judgeOwnWords(immich, said('svc runs 2.6.0 and the worker is stopped'))).toHaveLength(3);
    expect(judgeEnd(said('refused (no-app): it is not there. Next: Look.'), ['refused'])).toEqual([]);
    expect(judgeEnd(said('refused (no-app): it is not there.'), ['updated'])).toHaveLength(2);
  });
});
