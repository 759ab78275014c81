import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { attributes, elementEvents, tags } from '../../src/web/tags.ts';
import { codeOf, read, tablesOf } from '../documents/documents.ts';

const rowsOf = (head: RegExp) =>
  tablesOf(read('docs/web.md')).find((table) => head.test(table.head[0] ?? ''))?.rows ?? [];

it('the package lists the attributes of docs/web.md', () => {
  const documented = Object.keys(tags).map((tag) => {
    const short = tag.replace('svc-update-', '');
    const rows = rowsOf(/^attribute$/).filter(
      ([, of = '']) => of === 'all' || of.split(', ').includes(short),
    );
    return [tag, rows.flatMap(([name = '']) => codeOf(name)).sort()];
  });
  expect(Object.entries(tags).map(([tag, { attributes }]) => [tag, [...attributes].sort()])).toEqual(
    documented,
  );
});

it('the package lists the elements and events of docs/web.md', () => {
  expect(rowsOf(/^element$/).map(([tag = '']) => codeOf(tag)[0])).toEqual(
    Object.keys(tags).map((tag) => `<${tag}>`),
  );
  expect(rowsOf(/^event/).map(([name = '']) => codeOf(name)[0])).toEqual(Object.keys(elementEvents));
});

it('the package lists the attributes that the elements read and the events that they dispatch', () => {
  const source = globSync('src/web/elements/*.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const all = (form: RegExp) => [...new Set([...source.matchAll(form)].map(([, name]) => name))].sort();
  expect(all(/(?:this|element)\.(?:get|has)Attribute\('([a-z-]+)'\)/g)).toEqual(
    Object.keys(attributes).sort(),
  );
  expect(
    all(/\bdispatch\('([a-z]+)'/g)
      .map((name) => `svc-update-${name}`)
      .sort(),
  ).toEqual(Object.keys(elementEvents).sort());
});
