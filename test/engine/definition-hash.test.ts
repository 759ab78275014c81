import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { networkHash, volumeHash } from '../../src/engine/definition-hash.ts';

// The other side of the table is what Go writes; test/e2e/networks.test.ts holds it against compose's own labels.

const sha = (text: string): string => hash('sha256', text);

describe('networkHash', () => {
  it.each<[printed: string, json: string]>([
    ['{ "name": "svc_default",\n "ipam": {} }', '{"name":"svc_default","ipam":{}}'],
    [
      '{"name":"n","driver_opts":{"mtu":"1400"},"ipam":{"config":[{"subnet":"10.9.0.0/16"},{"gateway":"10.9.0.1"}]},"internal":true}',
      '{"name":"n","driver_opts":{"mtu":"1400"},"ipam":{"config":[{"subnet":"10.9.0.0/16"},{"gateway":"10.9.0.1"}]},"internal":true}',
    ],
    ['{"name":"n","enable_ipv6":null}', '{"name":"n","enable_ipv6":null}'],
    [
      '{"name":"n","labels":{"a$$b":"<&>","c":"$$$$","d":"caf\u00e9\\u2028"}}',
      '{"name":"n","labels":{"a$b":"\\u003c\\u0026\\u003e","c":"$$","d":"caf\u00e9\\u2028"}}',
    ],
    // Go sorts a map by bytes: JavaScript would begin with 2.
    [
      '{"name":"n","labels":{"10":"x","2":"y","B":"z","a":"w"}}',
      '{"name":"n","labels":{"10":"x","2":"y","B":"z","a":"w"}}',
    ],
  ])('%s', (printed, json) => {
    expect(networkHash(JSON.parse(printed))).toBe(sha(json));
  });
});

describe('volumeHash', () => {
  it.each([
    ['{"name":"v"}', '{"name":"v","driver":"local"}'],
    ['{"name":"v","labels":{"a":"b"}}', '{"name":"v","driver":"local","labels":{"a":"b"}}'],
    [
      '{"name":"v","driver":"nfs","driver_opts":{"o":"x"}}',
      '{"name":"v","driver":"nfs","driver_opts":{"o":"x"}}',
    ],
  ])('%s', (printed, json) => {
    expect(volumeHash(JSON.parse(printed))).toBe(sha(json));
  });
});
