import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { assemble, layer, machinePlatform } from '../rig/image.ts';
import type { TarEntry } from '../rig/tar.ts';
import { writeLayout } from './layouts.ts';

const own = machinePlatform.replace('linux/', '');
const other = own === 'arm64' ? 'amd64' : 'arm64';
const machines: Record<string, number> = { amd64: 0x3e, arm64: 0xb7 };

/** No more of a program than says which machine's it is: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html */
function program(name: string, machine: string): TarEntry {
  const content = Buffer.alloc(64);
  content.write('\x7fELF\x02\x01\x01', 'latin1');
  content.writeUInt16LE(machines[machine] ?? 0, 18);
  return { name, kind: 'file', mode: 0o755, content };
}

/** Of an image that says that it is for this machine, which nobody starts. */
async function tried(entries: readonly TarEntry[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-try-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script: TarEntry = { name: 'bin/script', kind: 'file', mode: 0o755, content: '#!/bin/sh\n' };
  await writeLayout(join(folder, 'image'), { one: assemble([layer([script, ...entries])], {}) });
  return execa('scripts/lib/release/try-programs', [join(folder, 'image'), own], {
    env: { SVC_UPDATER_DEV_STATE: folder },
    reject: false,
  });
}
const three = ['bin/node', 'bin/docker', 'lib/libc.so.6'].map((name) => program(name, own));

test("programs of the image's own machine alone", async () => {
  expect(await tried(three)).toMatchObject({
    ...{ exitCode: 0, stdout: `programs  ${own}  3, none of another machine` },
  });
});

test.each([
  ['a library', program('usr/lib/libacl.so.1', other)],
  ['what nobody may start by itself', { ...program('usr/lib/addon.node', other), mode: 0o644 }],
])('%s of another machine', async (_, entry) => {
  const { exitCode, stderr } = await tried([...three, entry]);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `try-programs: /${entry.name} in the image for ${own} is of another machine`,
  });
});

test('an image whose programs were not found', async () => {
  expect(await tried(three.slice(1))).toMatchObject({
    ...{ exitCode: 1, stderr: `try-programs: the image for ${own} has 2 programs` },
  });
});
