import { expect, it } from 'vitest';
import { readProofFiles } from '../../src/feed/read-proof.ts';
import { names } from './proofs.ts';

it('a feed with https cannot refer to a proof over http, on disk or in a private network', async () => {
  const from = (url: string) =>
    readProofFiles(
      {
        version: 'v1.5.0',
        url: null,
        notes: null,
        publishedAt: null,
        assets: names.map((name) => ({ name, url })),
      },
      { feed: { url: 'https://192.0.2.1/releases.json' }, signal: AbortSignal.timeout(5_000) },
    );
  await expect(from('http://192.0.2.1/x')).rejects.toThrow(
    'the release feed uses https, but release.json is at http://192.0.2.1',
  );
  await expect(from('file:///etc/passwd')).rejects.toThrow(
    'the address of release.json is neither http nor https',
  );
  await expect(from('https://127.0.0.1:1/x')).rejects.toThrow('127.0.0.1:1, which is in a private network');
});
