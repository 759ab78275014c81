import { expect, it } from 'vitest';
import { parseComposeMessages } from '../../../src/engine/cli/compose-output.ts';
import { isConnectionLost } from '../../../src/engine/cli/is-connection-lost.ts';

const event = (fields: object) => JSON.stringify(fields);

it('omits progress and prints an error once', () => {
  expect(
    parseComposeMessages(
      [
        event({ id: 'app', text: 'Pulling' }),
        event({ id: 'app', text: 'Error', status: 'manifest for svc:v9 not found: manifest unknown' }),
        event({
          error: true,
          message: 'Error response from daemon: manifest for svc:v9 not found: manifest unknown',
        }),
      ].join('\n'),
    ),
  ).toEqual(['Error response from daemon: manifest for svc:v9 not found: manifest unknown']);
});

it('groups several services that fail with the same error', () => {
  const names = ['server', 'worker', 'cron', 'jobs'];
  const failures = names.flatMap((id) => [
    event({ id, text: 'Error', status: 'no space left on device' }),
    event({ id, text: 'Error', status: 'no space left on device' }),
  ]);
  const denied = event({ id: 'web', text: 'Error', status: 'denied' });
  const last = event({ error: true, message: 'it failed' });
  expect(parseComposeMessages([...failures, denied, last].join('\n'))).toEqual([
    'server, worker, cron, jobs no space left on device',
    'web denied',
    'it failed',
  ]);
});

it('reads the error events of compose 5', () => {
  expect(
    parseComposeMessages(
      event({ id: 'Image svc:v9', status: 'Error', text: 'Error', details: 'no such tag' }),
    ),
  ).toEqual(['Image svc:v9 no such tag']);
});

it('reads lines of the logger and plain lines', () => {
  expect(
    parseComposeMessages(
      'time="2026-11-21T10:00:00Z" level=warning msg="The \\"X\\" variable is not set. Defaulting to a blank string."\nyaml: line 3: mapping values are not allowed\n\n{"id":',
    ),
  ).toEqual([
    'The "X" variable is not set. Defaulting to a blank string.',
    'yaml: line 3: mapping values are not allowed',
    '{"id":',
  ]);
});

// The failure of one service cancels the calls for the other services.
const cause = 'Error response from daemon: Bind for 127.0.0.1:80 failed: port is already allocated';
const lost = 'error during connect: Post "http://%2Frun%2Fdocker.sock/v1.54/containers/1/start": ';

it.each<[name: string, lines: object[], messages: string[]]>([
  [
    'with the cause of the first one, behind other words',
    [
      { id: 'Container svc-worker-1', status: 'Error', text: `${lost}${cause}` },
      { error: true, message: cause },
    ],
    [cause],
  ],
  [
    'in the last line',
    [
      { id: 'Container svc-app-1', status: 'Error', text: cause },
      { id: 'Container svc-worker-1', status: 'Error', text: `${lost}context canceled` },
      { error: true, message: 'context canceled' },
    ],
    [`Container svc-app-1 ${cause}`],
  ],
  [
    "with a registry's words",
    [{ error: true, message: `${lost}error from registry: You have reached your pull rate limit` }],
    ['error from registry: You have reached your pull rate limit'],
  ],
  ['and nothing else', [{ error: true, message: 'context canceled' }], ['context canceled']],
  ['as an engine does that went away', [{ error: true, message: `${lost}EOF` }], [`${lost}EOF`]],
])('reports the cause of cancelled calls: %s', (_, lines, messages) => {
  expect(parseComposeMessages(lines.map(event).join('\n'))).toEqual(messages);
});

it.each<[printed: string, isLost: boolean]>([
  [event({ error: true, message: `${lost}${cause}` }), false],
  [event({ id: 'Container svc-worker-1', status: 'Error', text: `${lost}context canceled` }), false],
  [event({ error: true, message: `${lost}EOF` }), true],
  [`${lost}context canceled\n${lost}EOF`, true],
  [`${lost}dial unix /run/docker.sock: connect: connection refused`, true],
  ['failed to connect to the docker API at unix:///run/docker.sock: connect: connection refused', true],
  ['read unix @->/run/docker.sock: read: connection reset by peer', true],
  ['unexpected EOF', true],
  // Connections that the engine itself could not open are reported in its response.
  ...[
    'failed to initialize logging driver: dial tcp 127.0.0.1:24224: connect: connection refused',
    'failed to initialize logging driver: dial tcp: lookup logs on 127.0.0.53:53: no such host',
    'failed to initialize logging driver: read tcp 127.0.0.1:1->127.0.0.1:514: connection reset by peer',
    'Get "https://registry.example/v2/": EOF',
    'Get "https://registry.example/v2/": unexpected EOF',
    'Head "https://registry.example/v2/svc": dial tcp 10.0.0.7:443: i/o timeout',
    'error while mounting volume: failed to mount: dial tcp 10.0.0.7:2049: connection refused',
  ].flatMap((answer): [string, boolean][] => [
    [`Error response from daemon: ${answer}`, false],
    [event({ error: true, message: `Error response from daemon: ${answer}` }), false],
    [
      event({ id: 'Container svc-app-1', status: 'Error', text: `Error response from daemon: ${answer}` }),
      false,
    ],
  ]),
  ['failed to do request: Head "https://10.0.0.7/v2/": dial tcp 10.0.0.7:443: connection refused', false],
  [`Error response from daemon: Get "https://10.0.0.7/v2/": EOF\n${lost}EOF`, true],
  ['Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?', true],
])('%s means a lost connection to the engine: %s', (printed, isLost) => {
  expect(isConnectionLost(printed)).toBe(isLost);
});
