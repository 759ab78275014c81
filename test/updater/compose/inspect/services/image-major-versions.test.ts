import { expect, it } from 'vitest';
import type { StorageMount } from '../../../../../src/engine/objects/container.ts';
import { findImageMajorVersionWarnings } from '../../../../../src/updater/compose/inspect/services/image-major-versions.ts';
import { container } from '../../../../build.ts';

const volume = (destination: string, writable = true): StorageMount => ({
  type: 'volume',
  source: 'data',
  destination,
  writable,
  path: '/var/lib/docker/volumes/data/_data',
  subpath: '',
  driver: 'local',
});

it.each<[string, string, string, StorageMount[], boolean]>([
  ['a database', 'postgres:15', 'postgres:17', [], true],
  ['a database in another spelling', 'pgvector/pgvector:pg15', 'pgvector/pgvector:pg17', [], true],
  ['a database of the same major version', 'postgres:15.1', 'postgres:15.8-alpine', [], false],
  ['a database to an unknown version', 'postgres:15', 'postgres:latest', [], true],
  ['a database whose image stays', 'postgres:latest', 'postgres:latest', [], false],
  ['a service with a volume', 'acme/wiki:1.9', 'acme/wiki:2.0', [volume('/data')], true],
  [
    'a service with a volume, to an unknown version',
    'acme/wiki:1.9',
    'acme/wiki:edge',
    [volume('/data')],
    false,
  ],
  ['a service with a read-only volume', 'acme/wiki:1.9', 'acme/wiki:2.0', [volume('/data', false)], false],
  ['a service without data', 'acme/wiki:1.9', 'acme/wiki:2.0', [], false],
  ['a year', 'acme/wiki:2025.1', 'acme/wiki:2026.1', [volume('/data')], false],
])('checks for a major version change of %s', (_, from, to, storage, isNamed) => {
  const containers = [container('db-1', { imageReference: from, storage })];
  const found = findImageMajorVersionWarnings(containers, { services: { db: { image: to } } });
  expect([...found.keys()]).toEqual(isNamed ? ['db'] : []);
  if (isNamed)
    expect(found.get('db')).toContain(`change db from ${from} to ${to}, a different major version`);
});
