import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { assemble, layer, sha256 } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { writeLayout } from './layouts.ts';

/** A registry that requires a token, as GitHub's does, and stores the pushed blobs and manifests. */
async function startRegistry() {
  const kept = new Map<string, Buffer>();
  const asked: string[] = [];
  const server = createServer(async (request, answer) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://registry');
    asked.push(`${request.method} ${pathname}`);
    const { authorization } = request.headers;
    if (pathname === '/token') {
      const isAnna = authorization === `Basic ${Buffer.from('anna:pw').toString('base64')}`;
      const scope = searchParams.get('scope');
      answer.writeHead(isAnna ? 200 : 403).end(JSON.stringify({ token: `for ${scope}` }));
    } else if (authorization !== 'Bearer for repository:acme/svc:pull,push') {
      const realm = `http://${request.headers.host}/token`;
      answer.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="registry"` }).end();
    } else if (request.method === 'HEAD') {
      answer.writeHead(kept.has(pathname.split('/').at(-1) ?? '') ? 200 : 404).end();
    } else if (request.method === 'POST') {
      answer.writeHead(202, { location: '/v2/acme/svc/blobs/uploads/1?state=x' }).end();
    } else {
      const bytes = await bytesOf(request);
      kept.set(searchParams.get('digest') ?? pathname.split('/').at(-1) ?? '', bytes);
      answer.writeHead(201).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, kept, asked };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('push.ts pushes a signed image unchanged with the credentials of docker, and its blobs only once', async () => {
  const folder = await temporaryDirectory();
  const { host, kept, asked } = await startRegistry();
  const image = assemble([layer([{ name: 'a', kind: 'file', content: 'a' }])], {});
  await writeLayout(join(folder, 'images'), { one: image });
  const images = { svc: { reference: `${host}/acme/svc:v1.5.0`, layout: 'images' } };
  await writeFile(join(folder, 'recipe.json'), JSON.stringify({ images }));
  const push = (login: string) =>
    writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ auths: { [host]: { auth: Buffer.from(login).toString('base64') } } }),
    ).then(() =>
      execa(process.execPath, ['scripts/lib/release/push.ts', join(folder, 'recipe.json')], {
        env: { DOCKER_CONFIG: folder },
        reject: false,
      }),
    );

  const refused = await push('mallory:pw');
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(': 401')]);
  expect(kept.size).toBe(0);

  expect(await push('anna:pw')).toMatchObject({
    exitCode: 0,
    stdout: `pushed ${host}/acme/svc:v1.5.0  ${sha256(image.manifest.bytes)}`,
  });
  for (const { digest, bytes } of image.blobs) expect(kept.get(digest)).toEqual(bytes);
  expect(kept.get('v1.5.0')).toEqual(image.manifest.bytes);
  // The tag is set last.
  expect(asked.at(-1)).toBe('PUT /v2/acme/svc/manifests/v1.5.0');

  asked.length = 0;
  await push('anna:pw');
  expect(asked.filter((each) => each.startsWith('PUT'))).toEqual(['PUT /v2/acme/svc/manifests/v1.5.0']);
});
