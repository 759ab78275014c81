import { expect, it } from 'vitest';
import { classifyPullFailure } from '../../../src/engine/registry/classify-pull-failure.ts';

// Recorded messages of the engine, containerd and registries.
it.each([
  ['manifest for 127.0.0.1:5000/big:2 not found: manifest unknown: manifest unknown', 'pull-unknown', false],
  [
    'failed to resolve reference "ghcr.io/acme/svc:v9": ghcr.io/acme/svc:v9: not found',
    'pull-unknown',
    false,
  ],
  [
    "pull access denied for acme/svc, repository does not exist or may require 'docker login'",
    'pull-denied',
    false,
  ],
  ['no matching manifest for linux/arm64/v8 in the manifest list entries', 'pull-platform', false],
  ['failed to register layer: write /a: no space left on device', 'pull-space', false],
  [
    'Get "http://127.0.0.1:5999/v2/": dial tcp 127.0.0.1:5999: connect: connection refused',
    'pull-unreachable',
    true,
  ],
  ['net/http: TLS handshake timeout', 'pull-unreachable', true],
  ['unexpected EOF', 'pull-unreachable', true],
  [
    'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
    'pull-unreachable',
    true,
  ],
  [
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'pull-unreachable',
    false,
  ],
  ['something nobody has seen yet', 'pull-failed', false],
])('classifyPullFailure returns for %s the code %s', (text, code, transient) => {
  const failure = classifyPullFailure(text);
  expect(failure.code).toBe(code);
  expect(failure.retryPolicy !== 'never').toBe(transient);
});

const repository = '127.0.0.1:5000/acme/svc';
const digest = `sha256:${'40'.repeat(32)}`;

// Messages of an engine with the containerd store (29.8.1), as printed by compose 5.4.
const denied = 'the registry denied access (wrong or missing credentials)';
const limits = 'the registry limits requests (429, too many requests)';
const brokeOff = 'the connection to the registry was interrupted';
const fails = 'the registry reported a server error (5xx)';
const resolving = (tag: string) => `failed to resolve reference "${repository}:${tag}": `;
const answering = 'Error response from daemon: ';
const head = (tag: string) =>
  `${answering}unknown: ${resolving(tag)}unexpected status from HEAD request to http://${repository.replace('/', '/v2/')}/manifests/${tag}: `;
const copying = 'failed to copy: httpReadSeeker: failed open: ';
const blob = `${repository.replace('/', '/v2/')}/blobs/${digest}`;
it.each<[text: string, code: string, again: string, sentence: string]>([
  [
    'failed to connect to the docker API at unix:///var/run/docker.sock: connect: connection refused',
    'pull-unreachable',
    'often',
    'the engine stopped responding',
  ],
  [
    `${answering}${resolving('v1')}pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`,
    'pull-denied',
    'never',
    denied,
  ],
  // An unknown text of a registry.
  [`${answering}error from registry: ask Anna for a key`, 'pull-denied', 'never', denied],
  [`${head('v1.403.0')}429 Too Many Requests`, 'pull-unreachable', 'patiently', limits],
  [
    'error from registry: You have reached your pull rate limit as svc: 0123. You may increase the limit by upgrading.',
    'pull-unreachable',
    'patiently',
    limits,
  ],
  [
    `${answering}${resolving('v1.403.0')}${repository}:v1.403.0: not found`,
    'pull-unknown',
    'never',
    'the registry has no such tag (manifest unknown)',
  ],
  [
    `failed commit on ref "index-${digest}": commit failed: unexpected commit digest ${digest}, expected ${digest}: failed precondition`,
    'pull-failed',
    'once',
    'the registry sent data that does not match its digest',
  ],
  ...[
    `${copying}could not fetch content descriptor ${digest} (application/vnd.docker.container.image.v1+json) from remote: not found`,
    `${copying}content at https://${blob} not found: not found`,
    // An engine without the containerd store.
    'error pulling image configuration: download failed after attempts=1: unknown blob',
  ].map((text): [string, string, string, string] => [
    text,
    'pull-failed',
    'once',
    'the registry has the tag, but some of its data is missing',
  ]),
  [`${copying}failed to do request: Get "https://${blob}": EOF`, 'pull-unreachable', 'often', brokeOff],
  ['short read: expected 401 bytes but got 403: unexpected EOF', 'pull-unreachable', 'often', brokeOff],
  [`${head('v1')}520 A status of its own`, 'pull-unreachable', 'often', fails],
  ['error from registry: we are at lunch', 'pull-failed', 'often', 'the registry returned an error'],
])('classifyPullFailure returns for %s the code %s, repeated %s', (text, code, again, sentence) => {
  const references = ['v1', 'v1.403.0'].map((tag) => `${repository}:${tag}`);
  expect(classifyPullFailure(text, references)).toMatchObject({ code, retryPolicy: again, sentence });
});

it.each<[reference: string, said: string, code: string]>([
  [
    '127.0.0.1:403/svc:v1.403.0',
    'Image 127.0.0.1:403/svc:v1.403.0 failed to resolve reference "127.0.0.1:403/svc:v1.403.0": failed to do request: Head "https://127.0.0.1:403/v2/svc/manifests/v1.403.0": dial tcp 127.0.0.1:403: connect: connection refused',
    'pull-unreachable',
  ],
  [
    'not-found.example/manifest-unknown/denied:429',
    'failed to resolve reference "not-found.example/manifest-unknown/denied:429": failed to do request: Head "https://not-found.example/v2/manifest-unknown/denied/manifests/429": dial tcp: lookup not-found.example on 127.0.0.53:53: no such host',
    'pull-unreachable',
  ],
  [
    'registry.example/forbidden/svc@sha256:401',
    'registry.example/forbidden/svc: tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'pull-unreachable',
  ],
])('classifyPullFailure ignores the name %s: %s', (reference, said, code) => {
  expect(classifyPullFailure(said, [reference]).code).toBe(code);
});

it('classifyPullFailure uses the status of the response', () => {
  const words = 'error from registry: ask Anna for a key';
  expect(classifyPullFailure(words, [], 403)).toMatchObject({ code: 'pull-denied', retryPolicy: 'never' });
  expect(classifyPullFailure(words, [], 500)).toMatchObject({ code: 'pull-failed', retryPolicy: 'often' });
});
