import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatLine } from '../../src/progress/line.ts';
import { read, tablesOf } from '../documents/documents.ts';
import { products } from './all.ts';
import { choose } from './choose.ts';
import { filesAt } from './compose-file.ts';
import { pointRowOf, rowOf, wordsOf } from './document.ts';
import { type Form, ofRelease, type Product } from './product.ts';
import { judgeOwnWords } from './words.ts';

const place = { name: 'photos', registry: 'r.example/photos', port: 20_000, digests: {} };
const each = products.flatMap((product) =>
  product.forms.map((form): [string, Product, Form] => [`${product.title}, ${form.name}`, product, form]),
);

describe('a product as test data', () => {
  it('has a title of its own, and says where it is from', () => {
    expect(new Set(products.map(({ title }) => title)).size).toBe(products.length);
    for (const { origin, read } of products) {
      expect(origin).toMatch(/^https:\/\//);
      expect(read).toMatch(/^\d{4}-\d\d-\d\d$/);
    }
  });

  it.each(each)('%s: is a compose file with these services', (_, product, form) => {
    const text = parse(filesAt(product, form, product.releases.old, place)[product.file] ?? '', {
      merge: true,
    });
    expect(Object.keys(text.services)).toEqual(Object.keys(product.services));
    for (const [name, { image, volumes = [] }] of Object.entries<{ image: string; volumes?: string[] }>(
      text.services,
    )) {
      expect(image.startsWith('r.example/photos/') || image.startsWith('${'), `${name}: ${image}`).toBe(true);
      for (const mount of volumes) {
        const [source = ''] = mount.split(':');
        if (/^[a-z]/.test(source)) expect(product.volumes).toContain(source);
      }
    }
    for (const name of product.moved) expect(product.services).toHaveProperty(name);
    if (product.database !== undefined) expect(product.moved).not.toContain(product.database);
  });

  it.each(each)('%s: differs from release to release in the pin alone', (_, product, form) => {
    const [old, next] = [product.releases.old, product.releases.next].map((release) =>
      Object.entries(filesAt(product, form, release, place)),
    );
    const key = /pinned|no version/.test(form.name) ? 'tag' : form.name === 'in parts' ? 'part' : 'word';
    const [from, to] = [product.releases.old, product.releases.next].map((release) =>
      ofRelease(`{${key}}`, { word: '', ...release }),
    );
    const moved = old?.map(([name, text]) => [
      name,
      from === '' ? text : text.replaceAll(from ?? '', () => to ?? ''),
    ]);
    expect(next).toEqual(moved);
    expect(JSON.stringify(old) === JSON.stringify(next)).toBe(from === to);
  });
});

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

describe('the words of scripts/campaign products', () => {
  it.each([
    [['immich'], 3],
    [['--form', 'no version'], 2],
    [['--form', 'published'], products.length],
    [[], each.length],
  ])('%j are so many rows', (words, count) => {
    expect(choose(words)).toMatchObject({ chosen: { length: count } });
  });

  it.each([['photoprism'], ['--form', 'odd'], ['--trial', 'odd'], ['--lanes', '0'], ['--odd']])(
    '%s %s are wrong',
    (...words) => {
      expect(choose(words)).toMatch(/./);
    },
  );
});

describe('what its owner must not read', () => {
  const [withV, withoutV] = ['Immich', 'Gitea'].map((title) =>
    products.find((product) => product.title === title),
  );
  const judged = (product: Product | undefined, ...messages: string[]) => {
    if (product === undefined) throw new Error('there is no such product');
    const lines = messages.map((message) => ({
      time: '2026-11-23T08:00:00.000Z',
      level: 'warn' as const,
      phase: 'plan' as const,
      message,
    }));
    return judgeOwnWords(product, {
      exitCode: 0,
      log: lines.map(formatLine).join('\n'),
      lines,
      durationMs: 0,
    });
  };

  it.each([
    ['svc-updater 1.0.0, engine 29.8.1, compose 5.4.0; project photos in /opt/photos', 0],
    ['1.26.4 → 1.27.2: move image of server in docker-compose.yml line 4 to 1.27.2, recreate server', 0],
    ['set SVC_VERSION to 1.27.2 in .env', 1],
    ['svc runs on', 1],
    ['the worker is stopped', 1],
    ['v1.26.4 runs on', 1],
    ['1.26.4 runs on, r.example/photos/gitea:v1.27.2 is not there', 1],
  ])('of a product without a v: %s', (message, count) => {
    expect(judged(withoutV, message)).toHaveLength(count);
  });

  it.each([
    ['v2.5.5 → v2.6.0: recreate immich-server', 0],
    ['2.6.0 is not there', 1],
    ['r.example/immich-app/immich-server:2.6.0 is not there', 0],
  ])('of a product with a v: %s', (message, count) => {
    expect(judged(withV, message)).toHaveLength(count);
  });

  it('over and over', () => {
    expect(judged(withV, 'no space left', 'no space left')).toEqual([]);
    expect(judged(withV, 'no space left', 'no space left', 'no space left')).toHaveLength(1);
  });
});
