import { expect, it } from 'vitest';
import { releaseDirectory } from '../../../src/agent/facts/release-files.ts';
import { productOf, svc } from '../../../src/progress/product.ts';

const larder = productOf({ name: 'larder' });

it.each([
  [svc, {}, '/usr/share/svc/release'],
  [larder, {}, '/usr/share/larder/release'],
  [larder, { 'larder.release-files': '/x' }, '/x'],
  [productOf({ name: 'larder', releaseDirectory: '/release' }), {}, '/release'],
])('of %j with %j the files of a release are in %s', (product, labels, directory) => {
  expect(releaseDirectory(labels, product)).toBe(directory);
});
