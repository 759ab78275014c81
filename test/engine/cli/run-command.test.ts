import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLineStream } from '../../../src/engine/cli/run-attached-command.ts';
import { runCommand } from '../../../src/engine/cli/run-command.ts';

const env = { PATH: process.env.PATH ?? '' };
const options = { env, deadlineMs: 10_000 };
const sh = (script: string, more: Partial<Parameters<typeof runCommand>[2]> = {}) =>
  runCommand('sh', ['-c', script], { ...options, ...more });

/** Whether a process is running; a zombie has already exited. */
const isAlive = (pid: number) =>
  readFile(`/proc/${pid}/stat`, 'utf8').then(
    (stat) => !/\) Z /.test(stat),
    () => false,
  );

describe('runCommand', () => {
  it('returns output and exit code without throwing', async () => {
    expect(await sh('echo out; echo err >&2; exit 3')).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err',
      timedOut: false,
      aborted: false,
    });
  });

  it('reports why a command could not be started', async () => {
    const result = await runCommand('no-such-command-anywhere', [], options);
    expect(result.exitCode).toBeNull();
    expect(result.stderr).toContain('ENOENT');
    expect(await sh('true', { cwd: '/no/such/directory' })).toMatchObject({
      exitCode: null,
      stderr: 'the directory /no/such/directory does not exist',
    });
  });

  it('reports arguments that are too long or contain a zero byte', async () => {
    expect((await sh('x'.repeat(4_000_000))).stderr).toContain('E2BIG');
    const output = createLineStream(() => {});
    expect(await sh('\0', { output })).toMatchObject({
      exitCode: null,
      stderr: expect.stringContaining('null bytes'),
    });
    await expect.poll(() => output.writableFinished).toBe(true);
  });

  it('ends the output of a command that could not be started', async () => {
    const output = createLineStream(() => {});
    const result = await runCommand('no-such-command-anywhere', [], { ...options, output });
    expect(result).toMatchObject({ exitCode: null, stderr: expect.stringContaining('ENOENT') });
    expect(output.writableFinished).toBe(true);
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 32])(
    'does not interrupt a command at a deadline of %d ms',
    async (deadlineMs) => {
      expect(await sh('sleep 0.2; echo done', { deadlineMs })).toMatchObject({
        stdout: 'done\n',
        timedOut: false,
      });
    },
  );

  it('does not pass the environment of its process to the command', async () => {
    process.env.SVC_VERSION = 'v9.9.9';
    const { stdout } = await sh('env', { env: { ...env, PWD: '/' } });
    delete process.env.SVC_VERSION;
    expect(stdout).not.toContain('SVC_VERSION');
  });

  it('closes standard input, so a prompt cannot block', async () => {
    expect((await sh('read answer || echo none')).stdout).toBe('none\n');
  });

  it('kills a command and its children at the deadline', async () => {
    const result = await sh('sleep 60 & echo $!; wait', { deadlineMs: 300 });
    expect(result).toMatchObject({ timedOut: true, aborted: false });
    await expect.poll(() => isAlive(Number(result.stdout))).toBe(false);
  });

  it('kills a command at the signal, even if it was aborted before the start', async () => {
    const controller = new AbortController();
    const running = sh('sleep 60', { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    expect(await running).toMatchObject({ aborted: true, exitCode: null });
    expect(await sh('sleep 60', { signal: controller.signal })).toMatchObject({ aborted: true });
  });

  it('runs a command in its own process group, which Ctrl-C does not reach', async () => {
    const { stdout } = await sh('ps -o pgid= -p $$ 2>/dev/null || cut -d" " -f5 /proc/$$/stat');
    const own = (await sh(`cut -d" " -f5 /proc/${process.pid}/stat`)).stdout;
    expect(Number(stdout)).not.toBe(Number(own));
  });

  it('reads standard error line by line and keeps only its end', async () => {
    const lines: string[] = [];
    const directory = await mkdtemp(join(tmpdir(), 'command-'));
    const script = join(directory, 'lines.sh');
    await writeFile(script, 'i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo "line $i" >&2; done; exit 1\n');
    const result = await runCommand('sh', [script], { ...options, onStderrLine: (line) => lines.push(line) });
    await rm(directory, { recursive: true });
    expect(lines).toHaveLength(1000);
    expect(result.stderr.split('\n')).toHaveLength(200);
    expect(result.stderr.endsWith('line 1000')).toBe(true);
  });

  // Longer than the maximum length of a string.
  const endless = 'head -c 600000000 /dev/zero';

  it.each([undefined, () => {}])('truncates an endless line of standard error', async (onStderrLine) => {
    const command = `${endless} >&2; echo >&2; echo last >&2; exit 3`;
    const result = await sh(command, { onStderrLine, deadlineMs: 60_000 });
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(result.stderr.split('\n').map((line) => line.length)).toEqual([16 * 1024, 4]);
  });

  it('fails if the standard output is too long', async () => {
    const { exitCode, stdout, stderr } = await sh(endless);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: null,
      stdout: '',
      stderr: 'sh printed more than 67108864 bytes',
    });
  });

  it('truncates an endless line of the output and reads the next line', async () => {
    const lines: number[] = [];
    const output = createLineStream((line) => lines.push(line.length));
    expect(await sh(`${endless}; echo; echo last`, { output })).toMatchObject({ exitCode: 0 });
    expect(lines).toEqual([1024 ** 2, 4]);
  });
});
