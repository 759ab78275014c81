import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseTrust, type Trust } from '../../../src/provenance/trust.ts';
import { publisherWith } from './sign.ts';

/** Signs a file: returns the text of its bundle. */
export type Sign = (file: Buffer) => string | Promise<string>;

/** Signs with a private key in PEM format. `key` is its public key. */
export const signerWith = async (path: string): Promise<{ sign: Sign; key: string }> =>
  publisherWith(await readFile(path, 'utf8'));

/** The trust file, or else the publisher's own key; null without both. @param path of the trust file */
export async function trustOf(path: string | undefined, key: string | null): Promise<Trust | null> {
  if (path !== undefined) return parseTrust(await readFile(path, 'utf8'));
  return key === null ? null : { keys: [key] };
}

/** Signs with the identity of the current workflow, so that there is no private key that could be lost. */
export async function signAsWorkflow(file: Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'release-sign-'));
  try {
    const [path, bundle] = [join(folder, 'file.json'), join(folder, 'file.json.sigstore.json')];
    await writeFile(path, file);
    await promisify(execFile)('cosign', [
      ...['sign-blob', '--yes', '--new-bundle-format', '--bundle', bundle],
      path,
    ]);
    return await readFile(bundle, 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}
