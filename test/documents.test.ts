import { describe, expect, it } from 'vitest';
import {
  agentRows,
  callsOfTrace,
  commandsOfSource,
  covers,
  dockerodeCallsOf,
  libraryRows,
  requestsOfSource,
  sources,
  withoutNames,
} from './documents/calls.ts';
import { codeOf, read } from './documents/documents.ts';

const unique = (list: readonly string[]): string[] => [...new Set(list)].sort();

describe("SECURITY.md's tables of calls", () => {
  const texts = sources();
  const all = [...texts.values()];

  it('have every call of the source, and no other', () => {
    const made = all.flatMap((text) => [...commandsOfSource(text), ...requestsOfSource(text)]);
    expect(unique(made)).toEqual(unique(agentRows.map(({ call }) => withoutNames(call))));
  });

  it('have every call of the server library, and no other', () => {
    const made = all.flatMap((text) => dockerodeCallsOf(text));
    expect(unique(made)).toEqual(unique(libraryRows.map(({ call }) => withoutNames(call))));
  });

  it('are of all doors: nothing else starts a process or opens a socket', () => {
    const filesWith = (form: RegExp) =>
      [...texts].filter(([, text]) => form.test(text)).map(([file]) => file);
    const imports = (names: string) => new RegExp(`(?:from|import\\(|Module\\()[^;]*?'(?:${names})'`);
    expect(filesWith(imports('execa|(?:node:)?child_process'))).toHaveLength(1);
    expect(filesWith(/\brunCommand\(/)).toHaveLength(2);
    expect(filesWith(imports('dockerode'))).toHaveLength(1);
    expect(filesWith(imports('(?:node:)?(?:https?|http2|net|tls|dgram)'))).toHaveLength(1);
    expect(filesWith(/\bfetch\(/).filter((file) => !file.startsWith('feed/'))).toEqual([]);
    expect(filesWith(/getBuiltinModule\(/)).toHaveLength(1);
  });

  it('have no call that is said to be never made', () => {
    const never = /It never calls ([^.]*?)[,.] and never/s.exec(read('SECURITY.md'))?.[1] ?? '';
    const words = codeOf(never).map((code) => code.replace('docker ', ''));
    expect(words).toContain('exec');
    const called = agentRows.flatMap(({ call }) => call.split(/[ /]/));
    expect(words.filter((word) => called.includes(word))).toEqual([]);
  });

  it.each([
    ['trace     12 –    345 ms  docker version --format {{json .}} (exit code 0)', 'docker version'],
    ['trace      1 –      2 ms  docker compose version --short (exit code 0)', 'docker compose version'],
    [
      'trace 1 – 2 ms  docker compose --ansi never --project-directory /a --file /a/c.yaml config --format json (exit code 0)',
      'docker compose config',
    ],
    [
      'trace      1 –      2 ms  GET /containers/svc-updater/json (status 200)',
      'GET /containers/svc-updater/json',
    ],
  ])('cover %s', (line, call) => {
    expect(callsOfTrace(line)).toEqual([call]);
    expect(agentRows.some((row) => covers(row, call))).toBe(true);
  });
});
