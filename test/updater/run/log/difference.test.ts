import { describe, expect, it } from 'vitest';
import type { ProjectFiles } from '../../../../src/core/compose/project-files.ts';
import { formatFileDifference } from '../../../../src/updater/run/log/difference.ts';

const files: ProjectFiles = {
  composeFiles: [{ path: '/opt/svc/compose.yaml', text: '' }],
  envFiles: [{ path: '/opt/svc/.env', text: '' }],
  linkedEnvFiles: [{ path: '/opt/svc/sub/.env', text: '' }],
  newEnvFile: '/opt/svc/.env',
};
const text = (version: string, end = '\n') =>
  ['# OLD_PASSWORD=hunter2hunter2', `SVC_VERSION=${version}`, 'SHORT=abc', ''].join(end);

describe('the difference of an env file', () => {
  it.each(['/opt/svc/.env', '/opt/svc/sub/.env'])('contains only the changed lines of %s', (path) => {
    expect(
      formatFileDifference('.env', { path, before: text('v1.4.2'), after: text('v1.5.0') }, files),
    ).toEqual(['--- a/.env', '+++ b/.env', '@@ -2 +2 @@', '-SVC_VERSION=v1.4.2', '+SVC_VERSION=v1.5.0']);
  });

  it.each([
    ["'v1.4.2' # was hunter2hunter2", "'v1.4.2' # …"],
    ['v1.4.2  # was hunter2hunter2\r', 'v1.4.2  # …\r'],
    ['v1.4.2\r', 'v1.4.2\r'],
  ])('does not contain the comment of %j', (value, shown) => {
    const [before, after] = [`V=${value}`, `V=${value.replace('v1.4.2', 'v1.5.0')}`];
    expect(formatFileDifference('.env', { path: '/opt/svc/.env', before, after }, files).slice(3)).toEqual([
      `-V=${shown}`,
      '\\ No newline at end of file',
      `+V=${shown.replace('v1.4.2', 'v1.5.0')}`,
      '\\ No newline at end of file',
    ]);
  });
});

it('the difference of an env file hides the values of specified variables', () => {
  const change = { path: '/opt/svc/.env', before: 'A=1\nPIN=1\n', after: "A=2\nPIN='2 3'\nKEY=4\n" };
  expect(formatFileDifference('.env', change, files, { hidden: ['PIN', 'KEY'] }).slice(3)).toEqual([
    '-A=1',
    '-PIN=…',
    '+A=2',
    '+PIN=…',
    '+KEY=…',
  ]);
});

describe('the difference of a compose file', () => {
  const compose = (version: string, comment: string) =>
    `app:\n  # hunter2hunter2\n  image: svc:${version} # was hunter2hunter2\n  # ${comment}\n  command: --pin x\n`;
  const change = {
    path: '/opt/svc/compose.yaml',
    before: compose('v1.4.2', "somebody's words"),
    after: compose('v1.5.0', 'from the release'),
  };

  it('written by the user contains only the changed lines, without comments', () => {
    expect(formatFileDifference('compose.yaml', change, files)).toEqual([
      '--- a/compose.yaml',
      '+++ b/compose.yaml',
      '@@ -3,2 +3,2 @@',
      '-  image: svc:v1.4.2 # …',
      '-  # …',
      '+  image: svc:v1.5.0 # …',
      '+  # …',
    ]);
  });

  it('shipped with a release contains context lines, but not the removed comments', () => {
    expect(formatFileDifference('compose.yaml', change, files, { isShipped: true }).slice(3)).toEqual([
      ' app:',
      '   # hunter2hunter2',
      '-  image: svc:v1.4.2 # …',
      '-  # …',
      '+  image: svc:v1.5.0 # was hunter2hunter2',
      '+  # from the release',
      '   command: --pin x',
    ]);
  });
});
