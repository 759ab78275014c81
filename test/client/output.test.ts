import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { clientCommand, environment, play, stayingIn } from './rig.ts';

/** Runs a shell line. `$SVC` is the client, `$PIPESTATUS` its exit code. */
async function typed(url: string, line: string) {
  const { stdout, stderr, exitCode } = await execa(
    'bash',
    ['-c', line.replaceAll('$SVC', clientCommand.join(' '))],
    {
      env: environment(url),
      extendEnv: false,
      reject: false,
    },
  );
  return { stdout, stderr, exitCode };
}

describe.concurrent('a closed or full output', () => {
  it('makes the client stop following with an exit code other than 0', async () => {
    const { url, updates } = await play({ speed: 10, runs: [stayingIn('pull')] });
    const { stdout, stderr } = await typed(url, '$SVC instance update | head -1; echo $PIPESTATUS');
    expect([stdout, stderr]).toEqual(['Updating svc v1.4.2 → v1.5.0\n130', '']);
    expect(await updates.history()).toHaveLength(1);
  });

  it('does not change the exit code of a finished command', async () => {
    const { url } = await play();
    const { stdout } = await typed(url, '$SVC instance status | head -c 3; echo " $PIPESTATUS"');
    expect(stdout).toBe('svc 0');
  });

  it('is reported as an error if the disk is full', async () => {
    const { url } = await play();
    const { stderr, exitCode } = await typed(url, '$SVC instance status > /dev/full');
    expect([exitCode, stderr]).toEqual([1, 'svc: cannot write the output (ENOSPC)']);
    expect((await typed(url, '$SVC instance statsu 2> /dev/full')).exitCode).toBe(2);
  });
});
