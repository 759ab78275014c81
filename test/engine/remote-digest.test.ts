import { expect, it } from 'vitest';
import type { RemoteDigest } from '../../src/engine/cli/engine.ts';
import { engineThat } from './http-engine.ts';

it.each<[what: string, status: number, body: object, expected: RemoteDigest]>([
  ['its digest', 200, { Descriptor: { digest: 'sha256:here' } }, { digest: 'sha256:here' }],
  ['no digest that one can read', 200, { Descriptor: 7 }, null],
  ['that it has no such tag', 404, { message: 'manifest unknown' }, 'none'],
  ['that access is refused', 401, { message: 'unauthorized' }, null],
  ['what a proxy says in its place', 404, { message: 'no such page' }, null],
])('findRemoteDigest reads from the response of a registry: %s', async (_, status, body, expected) => {
  const asked: string[] = [];
  const engine = await engineThat((from, to) => {
    asked.push(decodeURIComponent(from.url ?? ''));
    to.writeHead(status).end(JSON.stringify(body));
  });
  expect(await engine.findRemoteDigest({ repository: 'acme/svc', tag: 'v1.5.0' })).toEqual(expected);
  expect(asked).toEqual([expect.stringMatching(/\/distribution\/acme\/svc:v1\.5\.0\/json$/)]);
});
