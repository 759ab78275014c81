import { expect, it } from 'vitest';
import { UpdateError } from '../../../../../src/core/errors/update-error.ts';
import { HostPaths } from '../../../../../src/core/mounts/host-paths.ts';
import { explainUnmountedFile } from '../../../../../src/updater/compose/inspect/project-files/read-project.ts';

const opt = { type: 'bind', source: '/opt/svc', destination: '/opt/svc', writable: true };
const paths = new HostPaths([opt] as never);
const profile = (path: string) =>
  `opening seccomp profile (p.json) failed: open ${path}: no such file or directory`;

it.each([
  ['a seccomp profile', profile('/etc/p.json'), '/etc/p.json'],
  ['a label file', 'label file /etc/l not found: stat /etc/l: no such file or directory', '/etc/l'],
  ['a file that is mounted', profile('/opt/svc/p.json'), null],
  ['another mistake', 'services.app.ports must be a array', null],
])('reports a file outside the mounts if compose cannot read the file: %s', (_, message, path) => {
  const error = new UpdateError('compose-invalid', `compose rejects the project: ${message}`);
  const found = explainUnmountedFile(error, paths);
  if (path === null) return expect(found).toBe(error);
  expect(found).toMatchObject({
    code: 'outside-mounts',
    message: `compose needs ${path}, which is outside the mounted directories`,
    advice: `Make sure that the file exists on the host. Add -v ${path}:${path} to the docker run command.`,
  });
});
