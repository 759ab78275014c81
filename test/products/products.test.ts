import { describe, expect, it } from 'vitest';
import { read, tablesOf } from '../documents/documents.ts';
import { products } from './all.ts';
import { pointRowOf, rowOf, wordsOf } from './document.ts';

describe('docs/other-products.md', () => {
  it('lists every product with its pins and the tested arguments', () => {
    const [table] = tablesOf(read('docs/other-products.md'));
    expect(table?.rows.map((row) => row.slice(0, 3))).toEqual(products.map(rowOf));
  });

  it('lists the data of every product that a restore point saves or does not save', () => {
    const [, table] = tablesOf(read('docs/other-products.md'));
    expect(table?.rows).toEqual(products.map(pointRowOf));
  });

  it('shows commands with the arguments for the product in the example', () => {
    const [immich] = products;
    if (immich === undefined) throw new Error('there is no product');
    expect(read('docs/other-products.md')).toContain(`svc-updater:dev plan ${wordsOf(immich)}\n`);
    expect(read('docs/other-products.md')).toContain(`svc-updater:dev ${wordsOf(immich)}\n`);
  });
});
