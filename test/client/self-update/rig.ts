import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { execa } from 'execa';
import { type Reply, startForge, text } from '../../feed/forge.ts';
import { releaseFile, sha256 } from '../../feed/proofs.ts';
import type { publisher } from '../../provenance/sign.ts';

const entry = fileURLToPath(new URL('../../../src/client/main.ts', import.meta.url));

/** Bundles the client of a version, with or without trusted keys. */
export const clientOf = (version: string, trust?: string): Promise<string> =>
  bundled({
    entryPoints: [entry],
    define: {
      'process.env.SVC_UPDATER_BUILD_VERSION': JSON.stringify(version.replace(/^v/, '')),
      'process.env.SVC_UPDATER_BUILD_TRUST': JSON.stringify(trust) ?? 'undefined',
    },
  });

export async function bundled(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    ...options,
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

/** Files of a release by their names. */
export type Files = Readonly<Record<string, string | Buffer>>;

/** The contents of `release.json` and its signer. */
export interface Proof {
  version?: string;
  product?: string;
  /** The files that `release.json` lists. */
  files: Files;
  by: Pick<ReturnType<typeof publisher>, 'sign'>;
}

/** The two files of a release that verify its other files. */
export function proofOf({ version = 'v1.5.0', product = 'svc', files, by }: Proof) {
  const sums = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, sha256(bytes)]));
  const told = JSON.stringify(releaseFile(version, { product, images: {}, files: sums }));
  return { 'release.json': told, 'release.json.sigstore.json': by.sign(Buffer.from(told)) };
}

/** Starts a forge and creates a directory with this client. */
export async function startRig(client: string) {
  const forge = await startForge();
  const directory = await mkdtemp(join(tmpdir(), 'svc-update-'));
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const svc = join(bin, 'svc.mjs');
  await writeFile(svc, client);
  await chmod(svc, 0o755);

  const start = (args: readonly string[], env: Record<string, string> = {}, file = svc, uid?: number) =>
    execa(process.execPath, [file, 'update', ...args], {
      env: { SVC_FEED: forge.address('gitHub'), ...env },
      reject: false,
      ...(uid === undefined ? {} : { uid, gid: uid }),
      stdin: 'ignore',
      timeout: 90_000,
      forceKillAfterDelay: 60_000,
    });

  return {
    forge,
    directory,
    bin,
    svc,
    /** Publishes a release with its files and their checksums. */
    publish(tag: string, files: Files, replies: Readonly<Record<string, Reply>> = {}) {
      const sums = Object.entries(files).map(
        ([name, bytes]) => `${sha256(bytes).slice('sha256:'.length)}  ${name}\n`,
      );
      const all: Files = { ...files, SHA256SUMS: sums.join('') };
      forge.publish({ tag: 'v1.4.2' }, { tag, prerelease: tag.includes('-'), files: Object.keys(all) });
      for (const [name, bytes] of Object.entries(all))
        forge.host(
          forge.fileAt(tag, name),
          replies[name] ?? text(200, bytes, { 'content-type': 'application/octet-stream' }),
        );
    },
    start,
    async run(...typed: Parameters<typeof start>) {
      const { exitCode, stdout, stderr, signal } = await start(...typed);
      const plain = (lines: string) =>
        lines
          .replaceAll(directory, 'DIR')
          .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
          .replace(/^(?:Downloading|\S+ is checked only against SHA256SUMS).*\n?/gm, '');
      return { exitCode, stdout: plain(stdout), stderr: plain(stderr), signal };
    },
    names: async () => (await readdir(bin)).sort(),
    read: (path: string) => readFile(path, 'utf8'),
    async close() {
      await forge.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type Rig = Awaited<ReturnType<typeof startRig>>;
