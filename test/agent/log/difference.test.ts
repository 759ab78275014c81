import { describe, expect, it } from 'vitest';
import { difference } from '../../../src/agent/log/difference.ts';
import type { ProjectFiles } from '../../../src/compose/project-files.ts';

const files: ProjectFiles = {
  composeFiles: [{ path: '/opt/svc/compose.yaml', text: '' }],
  envFiles: [{ path: '/opt/svc/.env', text: '' }],
  linkedEnvFiles: [{ path: '/opt/svc/sub/.env', text: '' }],
  newEnvFile: '/opt/svc/.env',
};
const text = (version: string, end = '\n') =>
  ['# OLD_PASSWORD=hunter2hunter2', `SVC_VERSION=${version}`, 'SHORT=abc', ''].join(end);

describe('the difference of an env file', () => {
  it.each(['/opt/svc/.env', '/opt/svc/sub/.env'])('%s: the changed lines alone', (path) => {
    expect(difference('.env', { path, before: text('v1.4.2'), after: text('v1.5.0') }, files)).toEqual([
      '--- a/.env',
      '+++ b/.env',
      '@@ -2 +2 @@',
      '-SVC_VERSION=v1.4.2',
      '+SVC_VERSION=v1.5.0',
    ]);
  });

  it.each([
    ["'v1.4.2' # was hunter2hunter2", "'v1.4.2' # …"],
    ['"v1.4.2"#was hunter2hunter2', '"v1.4.2"# …'],
    ['v1.4.2  # was hunter2hunter2\r', 'v1.4.2  # …\r'],
    ['v1.4.2\r', 'v1.4.2\r'],
  ])('%j: without a comment', (value, shown) => {
    const [before, after] = [`V=${value}`, `V=${value.replace('v1.4.2', 'v1.5.0')}`];
    expect(difference('.env', { path: '/opt/svc/.env', before, after }, files).slice(3)).toEqual([
      `-V=${shown}`,
      '\\ No newline at end of file',
      `+V=${shown.replace('v1.4.2', 'v1.5.0')}`,
      '\\ No newline at end of file',
    ]);
  });

  it('a new file is shown whole, and a compose file with what stands round the change', () => {
    const added = { path: '/opt/svc/.env', before: null, after: 'SVC_VERSION=canary\n' };
    expect(difference('.env', added, files)).toContain('+SVC_VERSION=canary');
    const change = { path: '/opt/svc/compose.yaml', before: 'a: 1\nb: 1\n', after: 'a: 1\nb: 2\n' };
    expect(difference('compose.yaml', change, files)).toContain(' a: 1');
  });
});
