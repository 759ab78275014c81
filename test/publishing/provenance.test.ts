import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { assemble, layer, sha256 } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { writeLayout } from './layouts.ts';

const digits = 'a'.repeat(64);
const image = assemble([layer([])], {});

async function provenanceOf(bases: string, env: Record<string, string>) {
  const folder = await temporaryDirectory();
  await writeLayout(join(folder, 'images'), { one: image });
  await mkdir(join(folder, 'files'));
  await writeFile(join(folder, 'files/svc.mjs'), 'x');
  await writeFile(join(folder, 'bases'), bases);
  const images = { 'ghcr.io/acme/svc': { reference: 'ghcr.io/acme/svc:v1.5.0', layout: 'images' } };
  await writeFile(join(folder, 'recipe.json'), JSON.stringify({ version: 'v1.5.0', images }));
  const args = ['recipe.json', 'files', 'bases'].map((name) => join(folder, name));
  return execa(process.execPath, ['scripts/lib/release/provenance.ts', ...args], { env, reject: false });
}

test('the provenance of a release lists its images, files, commit, base images and workflow', async () => {
  const { stdout } = await provenanceOf(`CLI_IMAGE=docker:29-cli@sha256:${digits}\n`, {
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_WORKFLOW_REF: 'acme/svc/.github/workflows/release.yml@refs/tags/v1.5.0',
  });
  const commit = (await execa('git', ['rev-parse', 'HEAD'])).stdout;
  expect(JSON.parse(stdout)).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [
      { name: 'ghcr.io/acme/svc', digest: { sha256: sha256(image.manifest.bytes).replace('sha256:', '') } },
      { name: 'svc.mjs', digest: { sha256: sha256(Buffer.from('x')).replace('sha256:', '') } },
    ],
    predicate: {
      buildDefinition: {
        externalParameters: { version: 'v1.5.0' },
        resolvedDependencies: [
          { digest: { gitCommit: commit } },
          { name: 'CLI_IMAGE', uri: 'docker://docker:29-cli', digest: { sha256: digits } },
          { name: 'package-lock.json' },
        ],
      },
      runDetails: {
        builder: { id: 'https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/v1.5.0' },
      },
    },
  });
});
