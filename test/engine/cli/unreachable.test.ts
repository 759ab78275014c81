import { expect, it } from 'vitest';
import { unreachable } from '../../../src/engine/cli/unreachable.ts';
import { mappedBy } from '../../../src/engine/mapped-users.ts';

it.each([
  ['         0          0 4294967295\n', null],
  ['         0     165536      65536\n', 'remapped'],
  ['         0       1000          1\n         1     100000      65536\n', 'rootless'],
  ['', null],
])('sees in %j why root is another user outside: %s', (map, expected) => {
  expect(mappedBy(map)).toBe(expected);
});

it.each([
  [
    'client version 1.52 is too new. Maximum supported API version is 1.41',
    'the engine is too old: it supports API 1.41, but the docker CLI of this image requires 1.52',
  ],
  [
    'API version 1.41 is not supported by this client: the minimum supported API version is 1.44',
    'the engine is too old: it supports API 1.41, but the docker CLI of this image requires 1.44',
  ],
  [
    'client version 1.52 is too old. Minimum supported API version is 1.90',
    'the engine is too new: it requires API 1.90 or later, but the docker CLI of this image supports 1.52',
  ],
])('tells which of the two is too old by %j', (printed, message) => {
  const refused = unreachable('unix:///run/docker.sock', `Error response from daemon: ${printed}\n`);
  expect(refused).toMatchObject({ code: 'engine-version', message });
});

// An authorization plugin that is down, for example.
it('does not report an engine that responds with an error as missing', () => {
  const printed =
    'Error response from daemon: plugin authz failed: dial unix /run/authz.sock: connection refused';
  expect(unreachable('unix:///run/docker.sock', printed)).toMatchObject({
    code: 'engine-unavailable',
    message: `the engine at unix:///run/docker.sock rejects requests: ${printed}`,
  });
});

// README's command has the socket of root's engine, which another user's machine may not even have.
it.each([
  [
    'permission denied while trying to connect to the docker API',
    'rootless',
    'socket-denied',
    /XDG_RUNTIME_DIR/,
  ],
  [
    'permission denied while trying to connect to the docker API',
    'remapped',
    'socket-denied',
    /--userns=host/,
  ],
  ['Cannot connect to the Docker daemon', 'rootless', 'no-socket', /XDG_RUNTIME_DIR/],
  ['Cannot connect to the Docker daemon', null, 'no-socket', /-v \/var\/run\/docker\.sock/],
  ['Cannot connect to the Docker daemon', 'remapped', 'no-socket', /-v \/var\/run\/docker\.sock/],
] as const)('names the socket that helps: %s, %s', (printed, users, code, advice) => {
  const refused = unreachable('unix:///var/run/docker.sock', printed, users);
  expect(refused.code).toBe(code);
  expect(refused.advice).toMatch(advice);
});
