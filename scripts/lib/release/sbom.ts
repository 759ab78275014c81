// Writes what is in an image or in a program of one file, as CycloneDX 1.5, without a time or a random number:
// sbom.ts NAME VERSION LICENSES [LAYOUT] <SBOM-OF-NPM
//   LICENSES      the list of the packages that went into the bundle, which the build leaves beside it
//   LAYOUT        of an image: its packages and programs, of each platform
//   SBOM-OF-NPM   `npm sbom --sbom-format cyclonedx`, which has the hashes and licenses of all that is in the lock file
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { canonical } from './describe.ts';
import { imageComponents } from './image-components.ts';
import { readLayout } from './layout.ts';

export interface Component {
  'bom-ref': string;
  type: 'library' | 'application';
  name: string;
  version: string;
  purl: string;
  hashes?: unknown;
  licenses?: unknown;
}

const [name = '', version = '', licenses = '', layout] = process.argv.slice(2);
const all: { components: Component[] } = JSON.parse(await text(process.stdin));
const bundled = new Set((await readFile(licenses, 'utf8')).match(/^\S+ \d\S* (?=\(.+\)$)/gm));
const ofNpm = all.components.flatMap((component): Component[] => {
  if (!bundled.delete(`${component.name} ${component.version} `)) return [];
  const { 'bom-ref': ref, type, name, version, purl, hashes, licenses } = component;
  return [{ 'bom-ref': ref, type, name, version, purl, hashes, licenses }];
});
if (ofNpm.length === 0 || bundled.size > 0)
  throw new Error(
    `npm sbom does not tell of ${[...bundled].join(', ') || `anything that is in ${licenses}`}`,
  );
const ofImage = layout === undefined ? [] : await imageComponents(await readLayout(layout));
process.stdout.write(
  canonical({
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 },
    metadata: { component: { type: layout === undefined ? 'application' : 'container', name, version } },
    components: [...ofNpm, ...ofImage].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  }),
);
