import { expect, it } from 'vitest';
import { createResponseError, EngineError } from '../../../../src/engine/http/engine-error.ts';
import { readUserMapping } from '../../../../src/engine/self/user-mapping.ts';
import {
  explainUnusableEngine,
  requireEngine,
} from '../../../../src/updater/run/environment/require-engine.ts';
import { engine as engineAt } from '../../../build.ts';
import { startEngine } from '../../../engine/http-engine.ts';

it.each([
  ['         0          0 4294967295\n', null],
  ['         0     165536      65536\n', 'remapped'],
  ['         0       1000          1\n         1     100000      65536\n', 'rootless'],
  ['', null],
])('derives the user mapping from %j: %s', (map, expected) => {
  expect(readUserMapping(map)).toBe(expected);
});

const socket = 'unix:///var/run/docker.sock';
const denied = new EngineError('unreachable', 'connect EACCES', { cause: { code: 'EACCES' } });
const missing = new EngineError('unreachable', 'connect ENOENT /var/run/docker.sock', {
  cause: { code: 'ENOENT' },
});

// The command in README mounts the socket of root's engine, which not every host has.
it.each([
  [denied, 'rootless', 'socket-denied', /XDG_RUNTIME_DIR/],
  [denied, 'remapped', 'socket-denied', /--userns=host/],
  [denied, null, 'socket-denied', /without --user/],
  [missing, 'rootless', 'no-socket', /XDG_RUNTIME_DIR/],
  [missing, null, 'no-socket', /-v \/var\/run\/docker\.sock/],
  [missing, 'remapped', 'no-socket', /-v \/var\/run\/docker\.sock/],
] as const)('advises how to access the engine: %s, %s', (error, users, code, advice) => {
  const refused = explainUnusableEngine(socket, error, users);
  expect(refused?.code).toBe(code);
  expect(refused?.advice).toMatch(advice);
});

it('does not report a blocking proxy as a missing socket', () => {
  const page = { status: 403, body: Buffer.from('<h1>403 Forbidden</h1>') };
  expect(explainUnusableEngine('tcp://proxy:2375', createResponseError('GET /version', page))).toMatchObject({
    code: 'socket-denied',
    message:
      'tcp://proxy:2375 rejected the request: a proxy in front of the engine blocks GET /version (403 Forbidden)',
    advice: 'In the proxy, allow all requests that SECURITY.md lists for a manually started updater.',
  });
});

it.each<[what: string, status: number, body: string, expected: object]>([
  [
    'an engine that responds with an error',
    400,
    '{"message":"plugin authz failed"}',
    {
      code: 'engine-unavailable',
      message: expect.stringMatching(/^the engine at tcp:\S+ rejects requests: plugin authz failed$/),
    },
  ],
  [
    'an engine that is too old',
    200,
    '{"ApiVersion":"1.29"}',
    {
      code: 'engine-version',
      message: 'the engine is too old: it supports API 1.29, but at least 1.30 is required',
    },
  ],
  ['another server', 200, '<html>', { code: 'no-socket' }],
])('rejects %s', async (_, status, body, expected) => {
  const host = await startEngine((_asked, answer) => void answer.writeHead(status).end(body));
  await expect(requireEngine(engineAt(host))).rejects.toMatchObject(expected);
});
