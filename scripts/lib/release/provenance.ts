// Writes of what a release was made: provenance.ts RECIPE OUT BASES
// An in-toto statement, of the form of SLSA's provenance. It is made by scripts/release itself and signed by nobody but through
// release.json, which has its hash: what a builder says that its users cannot change is another thing.
//   BASES   lines of NAME=REFERENCE@DIGEST, the images that the image was built on
import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonical } from './describe.ts';
import { readLayout, sumOf } from './layout.ts';
import type { Recipe } from './make-release.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const [recipeFile = '', out = '', bases = ''] = process.argv.slice(2);
const recipe: Recipe = JSON.parse(await readFile(recipeFile, 'utf8'));
const { repository } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
const { GITHUB_SERVER_URL, GITHUB_WORKFLOW_REF } = process.env;

const subject: object[] = [];
for (const [name, { layout, tag }] of Object.entries(recipe.images)) {
  const { root } = await readLayout(resolve(dirname(recipeFile), layout), tag);
  subject.push({ name, digest: digestOf(root.digest) });
}
for (const name of (await readdir(out)).sort())
  subject.push({ name, digest: { sha256: await sumOf(join(out, name)) } });

const source = {
  uri: `git+${repository?.url ?? 'https://example.org/svc-updater'}`.replace(/^git\+git\+/, 'git+'),
  digest: { gitCommit: git('rev-parse', 'HEAD') },
};
const images = (await readFile(bases, 'utf8'))
  .trim()
  .split('\n')
  .map((line) => {
    const [, name, reference, digest = ''] = /^(\w+)=(\S+)@(sha256:[0-9a-f]{64})$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`${bases}: ${line} is no NAME=REFERENCE@DIGEST`);
    return { name, uri: `docker://${reference}`, digest: digestOf(digest) };
  });
const lock = { name: 'package-lock.json', digest: { sha256: await sumOf(join(root, 'package-lock.json')) } };
process.stdout.write(
  canonical({
    ...{ _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1', subject },
    predicate: {
      buildDefinition: {
        buildType: `${source.uri.replace(/^git\+|\.git$/g, '')}/blob/${source.digest.gitCommit}/scripts/release`,
        externalParameters: { source, version: recipe.version },
        resolvedDependencies: [source, ...images, lock],
      },
      runDetails: {
        builder: {
          id: GITHUB_WORKFLOW_REF ? `${GITHUB_SERVER_URL}/${GITHUB_WORKFLOW_REF}` : 'urn:svc-updater:by-hand',
        },
      },
    },
  }),
);

function digestOf(digest: string): Record<string, string> {
  const [algorithm = '', digits = ''] = digest.split(':');
  return { [algorithm]: digits };
}
