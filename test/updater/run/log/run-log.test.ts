import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseEventLine, parseJsonEventLine } from '../../../../src/core/progress/log-line.ts';
import { rememberingLog } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

describe('Log', () => {
  it('logs each line with its level, its phase and, if specified, the percentage', () => {
    const { log, events } = rememberingLog();
    log.info('it begins');
    log.enterPhase('pull');
    log.progress(0, 'nothing yet');
    log.progress(40, 'some of it');
    log.warn('slow');
    log.enterPhase('done');
    log.error('too slow');
    expect(events.map(({ time: _, ...event }) => event)).toEqual([
      { level: 'info', phase: 'inspect', message: 'it begins' },
      { level: 'info', phase: 'pull', percent: 0, message: 'nothing yet' },
      { level: 'info', phase: 'pull', percent: 40, message: 'some of it' },
      { level: 'warn', phase: 'pull', message: 'slow' },
      { level: 'error', phase: 'done', message: 'too slow' },
    ]);
    expect(events.every(({ time }) => new Date(time).toISOString() === time)).toBe(true);
  });

  it('splits a message into lines, and adds the fields to each line', () => {
    const { log, lines, fields } = rememberingLog();
    log.error('one\ntwo\r\nthree', { code: 'x' });
    expect(lines).toEqual(['error: one', 'error: two', 'error: three']);
    expect(fields).toEqual([{ code: 'x' }, { code: 'x' }, { code: 'x' }]);
  });

  it('applies new mask rules to all later messages and to fields at any depth', () => {
    const { log, lines, fields } = rememberingLog();
    log.info('hunter2', { a: 'hunter2' });
    log.addMaskRules(() => ({ hidden: ['hunter2'] }));
    log.warn('is hunter2', {
      a: 'xhunter2',
      b: ['hunter2', 7],
      c: { d: { e: 'hunter2' } },
      f: null,
      g: true,
    });
    expect(lines).toEqual(['info: hunter2', 'warn: is ***']);
    expect(fields).toEqual([
      { a: 'hunter2' },
      { a: 'x***', b: ['***', 7], c: { d: { e: '***' } }, f: null, g: true },
    ]);
    expect(log.maskText('hunter2!')).toBe('***!');
  });

  it('hides a secret of several lines before splitting the message into lines', () => {
    const { log, lines } = rememberingLog();
    log.addMaskRules(() => ({ hidden: ['ab\ncd'] }));
    log.info('key ab\ncd.');
    expect(lines).toEqual(['info: key ***.']);
  });
});

describe('createOutputSink', () => {
  it.each(['line', 'json'])('escapes control characters without loss in the format %s', (format) => {
    const message = 'a\u009b31m\u202eb\u2028c\u001b[2J\u007fé\ud800';
    const script = `
      import { createOutputSink, Log } from ${JSON.stringify(import.meta.resolve('../../../../src/updater/run/log/run-log.ts'))};
      new Log(createOutputSink(${JSON.stringify(format)})).info(${JSON.stringify(message)}, { field: ${JSON.stringify(message)} });
    `;
    const options = { encoding: 'utf8' } as const;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script], options);
    expect(printed).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufffd]+\n$/u);
    expect((format === 'json' ? parseJsonEventLine(printed)?.event : parseEventLine(printed))?.message).toBe(
      message,
    );
  });
});

describe('copyTo', () => {
  let directory = '';
  let path = '';
  beforeEach(async () => {
    directory = await temporaryDirectory();
    path = join(directory, 'state/last-run.log');
    await mkdir(join(directory, 'state'));
  });

  /** Messages of the copied log. The server must be able to parse every line. */
  const copied = async (file = path) =>
    (await readFile(file, 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((line) => parseEventLine(line)?.message ?? `unreadable: ${line}`);

  it('writes the log from its first line, masked, to a file that only the owner can access', async () => {
    const { log } = rememberingLog();
    log.addMaskRules(() => ({ hidden: ['hunter2'] }));
    log.info('before hunter2');
    log.copyTo(path);
    log.progress(10, 'after\nhunter2');
    expect(await copied()).toEqual(['before ***', 'after', '***']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each<[string, { add?: boolean } | undefined, string[]]>([
    ['takes the place of an earlier one', undefined, ['first', 'second']],
    ['adds to the one it goes on with', { add: true }, ['of an earlier run', 'first', 'second']],
  ])('writes to an existing log: %s', async (_, options, expected) => {
    await writeFile(path, '2026-11-21T10:42:07.000Z INFO  recreate of an earlier run\n');
    const { log } = rememberingLog();
    log.info('first');
    log.copyTo(path, options);
    log.info('second');
    expect(await copied()).toEqual(expected);
  });

  it('waits until a removed directory exists again, then writes all lines', async () => {
    const { log, lines } = rememberingLog();
    log.copyTo(path);
    log.info('first');
    await rm(join(directory, 'state'), { recursive: true });
    log.info('second');
    await mkdir(join(directory, 'state'));
    log.info('third');
    log.info('fourth');
    expect(await copied()).toEqual(['first', 'second', 'third', 'fourth']);
    expect(lines).toHaveLength(4);
  });

  it('warns once if the file can no longer be written, and continues to log', async () => {
    const { log, lines } = rememberingLog();
    log.copyTo(path);
    log.info('first');
    await rename(path, join(directory, 'kept.log'));
    await mkdir(path);
    log.info('second');
    log.info('third');
    const warning = expect.stringMatching(
      /^warn: the log can no longer be copied to .*last-run\.log: EISDIR/,
    );
    expect(lines).toEqual(['info: first', 'info: second', warning, 'info: third']);
    await rm(path, { recursive: true });
    log.info('fourth');
    expect(await copied(join(directory, 'kept.log'))).toEqual(['first']);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });
});
