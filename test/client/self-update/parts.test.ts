import { describe, expect, it } from 'vitest';
import { sumsFor } from '../../../src/client/self-update/checksums.ts';
import { versionIn } from '../../../src/client/self-update/program-version.ts';
import { shownCommand } from '../../../src/client/self-update/settle.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

describe('sumsFor', () => {
  it.each<[string, string[]]>([
    [`${a}  svc.mjs\n`, [a]],
    [`${a} *svc.mjs`, [a]],
    [`${a.toUpperCase()}  ./svc.mjs\r\n${b}  svc.mjs.sig\r\n`, [a]],
    [`${b}  svc-worker\n\n# a note\n${a}  svc.mjs\n${a}  svc.mjs\n`, [a]],
    [`${a}  svc.mjs\n${b}  svc.mjs\n`, [a, b]],
    [`${a}  old/svc.mjs\n${a}  xsvc.mjs\n`, []],
    [`${a.slice(1)}  svc.mjs\n${a}0  svc.mjs\n`, []],
    [`${a}\tsvc.mjs\n${a} svc.mjs\n`, []],
    ['', []],
  ])('of %j', (text, sums) => {
    expect(sumsFor('svc.mjs', text)).toEqual(sums);
  });
});

describe('versionIn', () => {
  it.each<[string, string | null]>([
    ['v1.5.0\n', 'v1.5.0'],
    ['1.5.0', 'v1.5.0'],
    ['svc 1.6.0-canary.2 (2026-11-20, node v24.1.0)\n', 'v1.6.0-canary.2'],
    ['svc-worker/v1.5.0 linux', 'v1.5.0'],
    ['svc-worker version 1.5', null],
    ['v1.5.0-rc.1', null],
    ['xv1.5.0', null],
    ['', null],
  ])('%j', (output, version) => {
    expect(versionIn(output)).toBe(version);
  });
});

it.each<[string[], string]>([
  [['systemctl', '--user', 'restart', 'svc-worker'], 'systemctl --user restart svc-worker'],
  [['a b', "it's", '', '$x'], `'a b' 'it'\\''s' '' '$x'`],
])('%j is shown as it can be typed', (command, shown) => {
  expect(shownCommand(command)).toBe(shown);
});
