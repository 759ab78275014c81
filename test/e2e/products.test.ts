import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { immich } from '../products/photos-and-files.ts';
import { runProducts } from '../products/run-products.ts';
import type { TrialName } from '../products/trials.ts';

// A product other than svc, as published. scripts/products tests all products in all forms.

const trials: readonly TrialName[] = ['plan', 'update'];

test('the updater plans and installs an update of Immich with its published files', async () => {
  const lines: string[] = [];
  const rows = await runProducts([[immich, immich.forms[0]]], inject('host'), {
    lanes: 1,
    directory: join(inject('host').directory, 'products'),
    trials,
    say: (line) => lines.push(line),
  });
  const red = rows.flatMap(({ facts }) => Object.values(facts).flat());
  expect(red, lines.join('\n')).toEqual([]);
  expect(rows.map(({ facts }) => Object.keys(facts))).toEqual([trials]);
});
