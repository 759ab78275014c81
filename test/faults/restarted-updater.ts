import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { exitCodes } from '../../src/core/progress/outcome.ts';
import { endingOf } from '../judge/log.ts';
import { askEngine, type ContainerInspection } from '../rig/engine-api.ts';
import type { UpdateResult, UpdaterOptions, UpdaterRun } from '../rig/updater-run.ts';
import { Lost } from './fault.ts';
import type { Subject } from './subject.ts';

/** Options that the server's launcher gives the updater, so that the engine restarts it. */
export const launched: UpdaterOptions = { keep: true, docker: ['--restart', 'on-failure:3'] };

const patienceMs = 180_000;
/** The engine waits 0.1 s before the first restart, and twice as long before each further restart. */
const restartsWithinMs = 4_000;
/**
 * The exit code that the engine sets for a container that was running at a power failure; the updater never uses it.
 */
const foundDead = 255;

/**
 * Waits until an interrupted updater has reached its end without help, and returns its whole log. It has then switched
 * off its restart policy.
 * @throws Lost if it is not restarted, or does not end
 */
export async function awaitComeback(subject: Pick<Subject, 'runs'>, run: UpdaterRun): Promise<UpdateResult> {
  const began = performance.now();
  let downSince: number | null = null;
  for (;;) {
    const { State, HostConfig, RestartCount } = await inspect(run);
    const now = performance.now();
    const policy = HostConfig.RestartPolicy.Name;
    if (State.Status === 'exited' || State.Status === 'dead') downSince ??= now;
    else downSince = null;
    if (downSince !== null && (policy === 'no' || now - downSince > restartsWithinMs)) {
      const log = await logOf(run);
      subject.runs.push({ what: 'the whole of it', name: run.name, log: () => log });
      // An updater that succeeded while the engine was unavailable is not restarted, whatever its policy is.
      if (policy !== 'no' && State.ExitCode !== 0) {
        throw new Lost([
          `the updater stays down with exit code ${State.ExitCode} and restart policy ${policy} (${RestartCount} restarts)`,
        ]);
      }
      const lines = log.split('\n').flatMap((line) => parseEventLine(line) ?? []);
      const result = { exitCode: State.ExitCode, log, lines, durationMs: now - began };
      return result.exitCode === foundDead ? { ...result, exitCode: exitCodeTold(result) } : result;
    }
    if (now - began > patienceMs) {
      const log = await logOf(run);
      subject.runs.push({ what: 'the whole of it', name: run.name, log: () => log });
      throw new Lost([`the updater has not ended ${patienceMs / 1000} s after the engine came back`]);
    }
    await sleep(100);
  }
}

/** An updater killed between its last line and its exit has still reported its outcome. */
function exitCodeTold(result: UpdateResult): number {
  const outcome = endingOf(result);
  return outcome === null || outcome === 'cancelled' ? result.exitCode : exitCodes[outcome];
}

async function inspect({ name }: UpdaterRun): Promise<ContainerInspection> {
  const { status, body } = await askEngine('GET', `/containers/${name}/json`);
  if (status !== 200) throw new Lost([`the updater's container is gone: ${body}`]);
  return JSON.parse(body) as ContainerInspection;
}

async function logOf({ name }: UpdaterRun): Promise<string> {
  const { all } = await execa('docker', ['logs', name], { all: true, reject: false, timeout: 30_000 });
  return all;
}
