import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { immich } from '../products/photos-and-files.ts';
import { runProducts } from '../products/run-products.ts';
import type { TrialName } from '../products/trials.ts';
import { n8n } from '../products/work-and-home.ts';

// Two products that are not svc, as published: scripts/campaign products tries all of them, in every form.

const trials: readonly TrialName[] = ['plan', 'update'];

test('Immich and n8n are updated as they are published', async () => {
  const lines: string[] = [];
  const rows = await runProducts(
    [immich, n8n].map((product) => [product, product.forms[0]]),
    inject('host'),
    {
      lanes: 2,
      directory: join(inject('host').directory, 'products'),
      trials,
      say: (line) => lines.push(line),
    },
  );
  const red = rows.flatMap(({ facts }) => Object.values(facts).flat());
  expect(red, lines.join('\n')).toEqual([]);
  expect(rows.map(({ facts }) => Object.keys(facts))).toEqual([trials, trials]);
});
