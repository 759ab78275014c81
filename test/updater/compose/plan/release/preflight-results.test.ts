import { describe, expect, it } from 'vitest';
import { evaluatePreflightResult } from '../../../../../src/updater/compose/plan/release/preflight.ts';

const line = (level: string, check: string, more = {}) =>
  JSON.stringify({ level, check, message: `${check} is so`, ...more });
const good = { exitCode: 0, lines: [line('pass', 'disk'), line('warn', 'database')] };

describe('evaluatePreflight', () => {
  it('aligns the results, and accepts warnings', () => {
    expect(evaluatePreflightResult(good)).toEqual({
      rows: [
        { level: 'pass', text: 'pass  disk      disk is so' },
        { level: 'warn', text: 'warn  database  database is so' },
      ],
      failure: null,
    });
  });

  it('fails for the first failed check, with its advice and the other failures', () => {
    const fails = [line('fail', 'a', { advice: 'Do it.' }), line('pass', 'b'), line('fail', 'c')];
    expect(evaluatePreflightResult({ exitCode: 0, lines: [...fails, 'a trace'] }).failure).toEqual({
      message: 'a: a is so',
      detail: ['c: c is so', 'a trace'],
      advice: 'Do it.',
    });
  });

  it.each([
    [2, 'the preflight command exited with 2'],
    [null, 'the preflight command did not finish within 60 s'],
  ])('fails for the exit code %s, with the last lines', (exitCode, message) => {
    const lines = Array.from({ length: 25 }, (_, at) => `line ${at}`);
    const { rows, failure } = evaluatePreflightResult({
      exitCode,
      lines: [...good.lines, ...lines, ' ', ''],
    });
    expect(rows).toHaveLength(2);
    expect(failure).toEqual({ message, detail: lines.slice(5) });
  });

  it.each([
    '{"level":"fail","check":"a"}',
    '{"level":"bad","check":"a","message":"b"}',
    '{"level":"fail","check":1,"message":"b"}',
    '[]',
    '{',
  ])('treats %s as plain output', (text) => {
    expect(evaluatePreflightResult({ exitCode: 0, lines: [text] })).toEqual({ rows: [], failure: null });
    expect(evaluatePreflightResult({ exitCode: 1, lines: [text] }).failure?.detail).toEqual([text]);
  });

  it('shows 100 results, and still reports a later failure', () => {
    const lines = [...Array(150).fill(line('pass', 'a')), line('fail', 'last')];
    const { rows, failure } = evaluatePreflightResult({ exitCode: 0, lines });
    expect(rows).toHaveLength(100);
    expect(failure?.message).toBe('last: last is so');
  });
});
