import { expect, it } from 'vitest';
import { classifyPullFailure } from '../../src/engine/pull-failure.ts';

// What the engine, containerd and registries really print.
it.each([
  ['manifest for 127.0.0.1:5000/big:2 not found: manifest unknown: manifest unknown', 'pull-unknown', false],
  [
    'failed to resolve reference "ghcr.io/acme/svc:v9": ghcr.io/acme/svc:v9: not found',
    'pull-unknown',
    false,
  ],
  ['Head "https://ghcr.io/v2/acme/svc/manifests/v9": unauthorized', 'pull-denied', false],
  ['Head "http://127.0.0.1:5000/v2/x/manifests/1": no basic auth credentials', 'pull-denied', false],
  [
    "pull access denied for acme/svc, repository does not exist or may require 'docker login'",
    'pull-denied',
    false,
  ],
  ['denied: requested access to the resource is denied', 'pull-denied', false],
  ['no matching manifest for linux/arm64/v8 in the manifest list entries', 'pull-platform', false],
  ['failed to register layer: write /a: no space left on device', 'pull-space', false],
  [
    'Get "http://127.0.0.1:5999/v2/": dial tcp 127.0.0.1:5999: connect: connection refused',
    'pull-unreachable',
    true,
  ],
  ['dial tcp: lookup ghcr.io on 127.0.0.53:53: no such host', 'pull-unreachable', true],
  ['net/http: TLS handshake timeout', 'pull-unreachable', true],
  ['read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer', 'pull-unreachable', true],
  ['unexpected EOF', 'pull-unreachable', true],
  ['toomanyrequests: You have reached your pull rate limit', 'pull-unreachable', true],
  ['received unexpected HTTP status: 503 Service Unavailable', 'pull-unreachable', true],
  ['received unexpected HTTP status: 500 Internal Server Error', 'pull-unreachable', true],
  ['filesystem layer verification failed for digest sha256:aa', 'pull-failed', true],
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
])('%s is %s', (text, code, transient) => {
  expect(classifyPullFailure(text)).toMatchObject({ code, transient });
});
