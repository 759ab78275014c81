import { describe, expect, it } from 'vitest';
import { read, tablesOf } from '../documents/documents.ts';
import { products } from './all.ts';
import { pointRowOf, rowOf, wordsOf } from './document.ts';

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
