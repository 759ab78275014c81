import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exitCodes } from '../../../src/core/progress/outcome.ts';

// Runs the whole program in a separate process, because only there is an unhandled rejection a crash.

const built = mkdtempSync(join(tmpdir(), 'svc-main-'));
const program = join(built, 'agent.mjs');
beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL('../../../src/updater/commands/main.ts', import.meta.url))];
  const js =
    "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);";
  await build({
    ...{ entryPoints, outfile: program, bundle: true, platform: 'node', format: 'esm' },
    banner: { js },
  });
});
afterAll(() => rmSync(built, { recursive: true }));

/** Runs the program; returns its exit code and the log lines without timestamps. */
async function run(...argv: string[]): Promise<{ exitCode: number | null; lines: string[] }> {
  const env = { PATH: process.env.PATH, HOME: built, DOCKER_HOST: `unix://${join(built, 'no.sock')}` };
  const child = spawn(process.execPath, [program, ...argv], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const output = await text(child.stdout);
  const lines = output.trimEnd().split('\n');
  return { exitCode: await closed, lines: lines.map((line) => line.replace(/^\S+ /, '')) };
}

it.each([[[]], [['--stack', 'svc']]])(
  'reports an engine that does not respond as an error, not as a crash: update %j',
  async (options) => {
    const { exitCode, lines } = await run('update', ...options);
    expect(lines.at(-1)).toMatch(/refused \(no-socket\): nothing was changed\. Next: /);
    expect(lines.join('\n')).not.toContain('crashed');
    expect(exitCode).toBe(exitCodes.refused);
  },
);
