import { describe, expect, it } from 'vitest';
import { versionIn } from '../../../src/client/self-update/program.ts';
import { sumsFor } from '../../../src/client/self-update/published.ts';
import { TransferLine } from '../../../src/client/self-update/transfer-line.ts';

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
    ['v1.5.0-alpine', null],
    ['01.5.0', null],
    ['v99999999999999999999.0.0', null],
    ['xv1.5.0', null],
    ['', null],
  ])('%j', (output, version) => {
    expect(versionIn(output)).toBe(version);
  });
});

describe('a download', () => {
  const shown = (
    isTerminal: boolean,
    play: (line: TransferLine, wait: (seconds: number) => void) => void,
  ) => {
    let text = '';
    let time = 5000;
    const stdout = { write: (more: string) => (text += more) };
    const line = new TransferLine({ stdout, isTerminal, now: () => time }, 'svc.mjs');
    play(line, (seconds) => {
      time += seconds * 1000;
    });
    return text;
  };

  it('is one line on a terminal', () => {
    const text = shown(true, (line, wait) => {
      line.progress(0, 80_000_000);
      wait(1);
      line.progress(4_000_000, 80_000_000);
      line.progress(4_100_000, 80_000_000);
      wait(19);
      line.done(80_000_000);
    });
    expect(text).toBe('\rsvc.mjs  4.0 of 80 MB  1 s\u001b[K\rsvc.mjs  80 MB, checked  20 s\u001b[K\n');
  });

  it('is a line every ten seconds elsewhere', () => {
    const text = shown(false, (line, wait) => {
      for (let seconds = 1; seconds <= 25; seconds++) {
        wait(1);
        line.progress(seconds * 100_000, null);
      }
      line.done(2_500_000);
    });
    expect(text).toBe('svc.mjs  1.0 MB  10 s\nsvc.mjs  2.0 MB  20 s\nsvc.mjs  2.5 MB, checked  25 s\n');
  });

  it('that fails at once leaves no empty line', () => {
    expect(shown(true, (line) => line.end())).toBe('');
  });
});
