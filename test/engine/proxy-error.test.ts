import { expect, it } from 'vitest';
import { isConnectionLost } from '../../src/engine/cli/is-connection-lost.ts';
import { explainProxyError } from '../../src/engine/proxy-error.ts';

const said = (status: string, path: string, host = 'proxy:2375') =>
  `request returned ${status} for API route and version http://${host}${path}, check if the server supports the requested API version`;

// Printed by docker and compose behind a real HAProxy.
it.each([
  [said('403 Forbidden', '/v1.45/images/create?fromImage=acme&tag=v1'), '/images/create (403 Forbidden)'],
  [
    said('403 Forbidden', '/v1.45/networks?filters=%7B%7D', '%2Ftmp%2Frecorder%2Fengine.sock'),
    '/networks (403 Forbidden)',
  ],
  [
    'Error response from daemon: <html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>',
    'a request (403 Forbidden)',
  ],
  [said('500 Internal Server Error', '/v1.45/version'), null],
  ['Head "https://ghcr.io/v2/acme/svc/manifests/v9": 403 Forbidden', null],
])('%s is an error of a proxy that blocks: %s', (printed, call) => {
  expect(explainProxyError(printed)).toBe(call && `a proxy in front of the engine blocks ${call}`);
});

it.each([
  [said('503 Service Unavailable', '/v1.45/info'), true],
  [said('403 Forbidden', '/v1.45/info'), false],
  ['Error response from daemon: <html><body><h1>503 Service Unavailable</h1>', true],
  [
    String.raw`{"error":true,"message":"Error response from daemon: \u003chtml\u003e\u003ch1\u003e503 Service`,
    true,
  ],
  ['Error response from daemon: unexpected status: 503 Service Unavailable', false],
])('%s means a lost connection to the engine: %s', (printed, expected) => {
  expect(isConnectionLost(printed)).toBe(expected);
});
