import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/rehearsal-engine.ts', import.meta.url));

test.each(['no', 'yes'])(
  'nothing stays suspended or running if the engine ends during a rehearsal (live-restore: %s)',
  { timeout: 1_800_000 },
  async (LIVE_RESTORE) => {
    const options = { all: true, reject: false, stdin: 'ignore', env: { LIVE_RESTORE } } as const;
    const { all, exitCode } = await execa(process.execPath, [main], options);
    expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
  },
);
