import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { assemble, layer } from '../rig/image.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { writeLayout } from './layouts.ts';

const npm = (name: string, version: string) => ({
  ...{ 'bom-ref': `${name}@${version}`, type: 'library', name, version, purl: `pkg:npm/${name}@${version}` },
  ...{ scope: 'optional', hashes: [{ alg: 'SHA-512', content: '00' }], properties: [] },
});
const told = JSON.stringify({
  serialNumber: 'urn:uuid:of-this-run',
  components: [npm('yaml', '2.9.1'), npm('vitest', '4.1.12'), npm('yaml', '1.0.0')],
});
const database =
  'C:Q1=\nP:attr\nV:2.5.2-r2\nA:aarch64\nL:GPL-2.0-or-later\nF:usr\n\nP:acl\nV:2.3.2-r1\nA:aarch64\nL:LGPL\n';
const file = (name: string, content: string) => ({ name, kind: 'file', content }) as const;

async function sbomOf(licenses: string, files: Parameters<typeof layer>[0] | null) {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'licenses.txt'), licenses);
  const args = ['svc-updater', 'v1.0.0', join(folder, 'licenses.txt')];
  if (files !== null) {
    await writeLayout(join(folder, 'image'), {
      one: assemble([layer(files), layer([file('usr/x', '')])], {}, ['linux/arm64']),
    });
    args.push(join(folder, 'image'));
  }
  return execa(process.execPath, ['scripts/lib/release/sbom.ts', ...args], { input: told, reject: false });
}
const programs = file(
  'usr/local/lib/svc-updater/programs.json',
  '{"cli":"29.7.2","api":"1.52","compose":"v5.4.0"}',
);
const node = file(
  'usr/local/bin/node',
  '\x7fELF https://nodejs.org/download/release/v24.21.0/node-v24.21.0-headers',
);

test('the SBOM of an image lists exactly its bundled packages, Alpine packages and programs', async () => {
  const files = [file('lib/apk/db/installed', database), programs, node];
  const { stdout } = await sbomOf('yaml 2.9.1 (ISC)\n\nIt is free.\n', files);
  const { components, ...rest } = JSON.parse(stdout);
  expect(rest).toEqual({
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 },
    metadata: { component: { name: 'svc-updater', type: 'container', version: 'v1.0.0' } },
  });
  expect(components.map(({ purl }: { purl: string }) => purl)).toEqual([
    'pkg:apk/alpine/acl@2.3.2-r1?arch=aarch64',
    'pkg:apk/alpine/attr@2.5.2-r2?arch=aarch64',
    'pkg:github/docker/cli@v29.7.2?arch=arm64',
    'pkg:github/docker/compose@v5.4.0?arch=arm64',
    'pkg:github/nodejs/node@v24.21.0?arch=arm64',
    'pkg:npm/yaml@2.9.1',
  ]);
  expect(components.at(-1)).toMatchObject({ hashes: [{ content: '00' }] });
});
