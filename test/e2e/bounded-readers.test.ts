import { realpathSync } from 'node:fs';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { updaterImage } from '../rig/updater-run.ts';

// Data from outside may never end, or arrive too slowly. Each reader must stop by itself, with little memory.

const readers = {
  engine: [
    ...['engine response', 'engine version', 'engine response headers', 'engine error of a stream'],
    ...['file of a container', 'pull progress', 'load progress', 'engine events', 'followed log'],
    ...['error in a log', 'last lines of a log', 'request of compose', 'response to compose'],
  ],
  command: [
    ...['standard output of a command', 'standard error of a command', 'command in a container'],
    ...['result of a helper container', 'standard output of rsync', 'standard error of rsync'],
    'standard input of the helper program',
  ],
  web: [
    ...['page of a feed', 'file of a release', 'redirect of a feed', 'download of the client'],
    ...['response to a notification', 'response headers of a notification', 'callback of the product'],
  ],
  server: [
    ...['status of the server', 'problem of the server', 'report of the server', 'event of the server'],
    ...['events of a run', 'request body of the server'],
  ],
  file: [
    ...['compose file', 'settings file', 'release archive', 'release.json', 'channel file'],
    ...['config.json of docker', 'credentials of a registry'],
  ],
};
/** A file has all its bytes at once, so files are not read slowly. */
const { file: _, ...slowReaders } = readers;

test.concurrent.each([
  ['endless line', readers],
  ['endless stream', readers],
  ['one byte a second', slowReaders],
] as const)('each reader of outside data stops with little memory: %s', async (flow, groups) => {
  for (const [group, names] of Object.entries(groups)) {
    const { exitCode, all } = await runReaders(group, flow);
    const cases = all.split('\n').map((line) => line.split(' | ').slice(0, 2).join(' | '));
    expect(cases.toSorted(), all).toEqual(names.map((name) => `${name} | ${flow}`).toSorted());
    expect(exitCode, all).toBe(0);
  }
});

/** The updater itself gets 128 MB. The program that sends the data runs in the same process as the readers. */
const memory = '192m';

/** Runs the readers of a group in a container. Only loopback is available, for the servers that send the data. */
function runReaders(group: string, flow: string) {
  const volumes = ['src', 'test', 'package.json', 'node_modules'].flatMap((name) => [
    '-v',
    `${realpathSync(name)}:/repository/${name}:ro`,
  ]);
  const program = '/repository/test/e2e/support/bounded-readers.ts';
  return execa(
    'docker',
    [
      ...['run', '--rm', '--init', '--network', 'none', '--memory', memory, '--memory-swap', memory],
      ...[
        ...volumes,
        '--entrypoint',
        '/usr/local/bin/node',
        updaterImage,
        '--expose-gc',
        program,
        group,
        flow,
      ],
    ],
    { all: true, reject: false },
  );
}
