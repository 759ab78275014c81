import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { createProduct } from '../src/core/names/product.ts';
import { formatLinesToPaste } from '../src/updater/compose/enable/updates-service.ts';
import { read } from './documents/documents.ts';

const { addUpdates } = createRequire(import.meta.url)('./first-button/updates.cjs');

/** The code blocks of a page, without their languages. */
const blocksOf = (page: string): string[] =>
  [...read(page).matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, code = '']) => code);

it.each([
  ['docs/your-product.md', 'updates/serve.yaml'],
  ['docs/your-product.md', 'updates/Dockerfile'],
  ['docs/your-product.md', 'compose.yaml'],
  ['docs/your-product.md', 'updates.cjs'],
  ['docs/your-product.md', 'page.html'],
  ['docs/test-locally.md', 'trial.sh'],
])('%s contains an exact copy of test/first-button/%s', (page, file) => {
  expect(blocksOf(page)).toContain(read(`test/first-button/${file}`));
});

it('docs/ship-it.md contains the lines that the command enable prints', () => {
  const images = new Map([['app', 'ghcr.io/acme/larder:v1.5.0']]);
  const [, ...lines] = formatLinesToPaste(
    {
      product: createProduct({ name: 'larder', services: ['app', 'updates'] }),
      image: 'ghcr.io/acme/larder-updates:v1.5.0',
      app: 'app',
      workers: [],
      socket: '/var/run/docker.sock',
      network: null,
    },
    images,
  );
  const shown = blocksOf('docs/ship-it.md').filter((block) => block.startsWith('services:'));
  expect(shown.map((block) => parse(block))).toEqual([parse(lines.join('\n'))]);
});

describe('updates.cjs in an installation without the service and the secret', () => {
  const app = express();
  addUpdates(app, () => ({ name: 'anna', role: 'admin' }));
  const server = createServer(app);
  let url = '';
  beforeEach(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    server.close();
  });

  it.each(['Bearer ', 'Bearer undefined', 'Bearer', ''])(
    'refuses a callback with the header Authorization: %j',
    async (authorization) => {
      vi.stubEnv('UPDATES_SECRET', undefined);
      const headers = { authorization };
      expect((await fetch(`${url}/updates-callbacks/user`, { headers })).status).toBe(403);
    },
  );

  it('responds with 503 to the endpoints', async () => {
    expect((await fetch(`${url}/api/v1/instance/update`)).status).toBe(503);
  });

  it('identifies the user for a service with the secret', async () => {
    vi.stubEnv('UPDATES_SECRET', 'a'.repeat(32));
    const headers = { authorization: `Bearer ${'a'.repeat(32)}` };
    const response = await fetch(`${url}/updates-callbacks/user`, { headers });
    expect(await response.json()).toEqual({ name: 'anna', role: 'admin' });
  });
});
