// Readers of files from outside, each with a file that never ends.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTextFile } from '../../../src/core/files/text-file.ts';
import { readRegistryCredentials } from '../../../src/engine/registry/registry-credentials.ts';
import { openReleaseArchive } from '../../../src/provenance/release-archive.ts';
import { writeDockerConfig } from '../../../src/updater/run/environment/docker-config.ts';
import { Log } from '../../../src/updater/run/log/run-log.ts';
import { parseCommandLine } from '../../../src/updater/run/options/command-line.ts';
import { readSmallFile } from '../../../src/updater/run/options/settings-file.ts';
import { updateOptionsOf } from '../../../src/updater/run/options/update-options.ts';
import { readExpectedDigests } from '../../../src/updater/run/release/expected-digests.ts';
import { readRecalls } from '../../../src/updater/run/release/recalls.ts';
import { type Flow, printing, root } from './adversary.ts';
import type { Reader } from './bounded-reader.ts';

/** Calls the reader with a file of 1 GiB, or with a pipe that another process fills. */
async function withFile(
  flow: Flow,
  name: string,
  read: (path: string) => Promise<unknown>,
): Promise<unknown> {
  const path = join(mkdtempSync(join(root, 'files-')), name);
  if (flow === 'endless line') {
    writeFileSync(path, '');
    truncateSync(path, 1024 ** 3);
    return read(path);
  }
  execFileSync('mkfifo', [path]);
  const writer = spawn('sh', ['-c', `exec ${printing[flow]} >"$0"`, path]);
  return read(path).finally(() => writer.kill('SIGKILL'));
}

const fileReader = (
  name: string,
  file: string,
  read: (path: string) => Promise<unknown>,
  [huge, pipe]: readonly [RegExp, RegExp],
): Reader => ({
  name,
  read: (flow) => withFile(flow, file, read),
  ends: { 'endless line': huge, 'endless stream': pipe },
});

const optionsWith = (...options: readonly string[]) =>
  updateOptionsOf(parseCommandLine(['update', ...options], {}));
const trustFile = join(root, 'trust.pem');
writeFileSync(trustFile, '');
const tooLarge = /cannot be read \(EFBIG\)/;
const noFile = /cannot be read \(EINVAL\)/;

export const readers: Reader[] = [
  fileReader('compose file', 'compose.yaml', readTextFile, [/is larger than 5 MiB/, /not a regular file/]),
  fileReader('settings file', 'settings.yaml', (path) => readSmallFile(path, path), [
    /larger than 64 KiB/,
    /not a regular file/,
  ]),
  fileReader('release archive', 'release.tar', openReleaseArchive, [
    /data after the end of the archive/,
    /not a regular file/,
  ]),
  fileReader(
    'release.json',
    'release.json',
    (path) => {
      writeFileSync(`${path}.sigstore.json`, '');
      const options = optionsWith('--release', dirname(path), '--trust', trustFile);
      return readExpectedDigests(options, 'linux/amd64');
    },
    [tooLarge, noFile],
  ),
  fileReader(
    'channel file',
    'channel.json',
    (path) =>
      readRecalls({
        options: optionsWith('--channel-file', path),
        log: new Log(() => {}),
        startedAt: Date.now(),
      }),
    [tooLarge, noFile],
  ),
  fileReader(
    'config.json of docker',
    'config.json',
    async (path) => {
      const warnings: string[] = [];
      const log = new Log(({ message }) => warnings.push(message));
      await writeDockerConfig(mkdtempSync(join(root, 'config-')), { DOCKER_CONFIG: dirname(path) }, log);
      return warnings[0];
    },
    [tooLarge, noFile],
  ),
  fileReader('credentials of a registry', 'config.json', (path) => readRegistryCredentials('svc', path), [
    /^null$/,
    /^null$/,
  ]),
];
