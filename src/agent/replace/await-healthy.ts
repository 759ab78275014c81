import { listen } from '../../engine/api/events.ts';
import { inspectContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Log } from '../log/log.ts';
import { confidencesOfContainers } from '../log/secrets.ts';
import { type HealthReport, HealthWatch } from './health.ts';

/** Events come as they happen; this is for what no event tells, and for those that are lost with the engine. */
const lookEveryMs = 250;
const heartbeatMs = 10_000;
const logLines = 50;

/**
 * Waits until every running container of these services is well: healthy where it has a health check, else without a
 * restart for 5 s.
 * @throws UpdateError broken, with the last lines of what the unwell containers printed
 */
export async function awaitHealthy(
  { engine, log }: { engine: Engine; log: Log },
  ids: ReadonlyMap<string, readonly string[]>,
  timeoutMs: number,
): Promise<HealthReport[]> {
  const all = [...ids.values()].flat();
  const events = listen(engine, all);
  const watch = new HealthWatch(ids, timeoutMs, Date.now());
  let nextBeat = Date.now() + heartbeatMs;
  try {
    for (;;) {
      const verdict = watch.look(await look(), Date.now());
      if (verdict.kind === 'well') return verdict.reports;
      if (verdict.kind === 'unwell') {
        const logs = await Promise.all(verdict.worst.map((container) => lastLog(engine, container)));
        throw new UpdateError('broken', verdict.sentence, { detail: logs.flat() });
      }
      if (Date.now() >= nextBeat) {
        nextBeat += heartbeatMs;
        log.info(verdict.sentence);
      }
      await events.next(lookEveryMs);
    }
  } finally {
    events.close();
  }

  /** What they print may quote a value that was put into a file after this run had read it. */
  async function look(): Promise<Container[]> {
    const containers = await inspectContainers(engine, all);
    log.learn(() => confidencesOfContainers(containers));
    // Only the beginning of a health check's output is shown: cut first, half a password would be.
    return containers.map((container) => ({
      ...container,
      lastHealthOutput: log.masked(container.lastHealthOutput),
    }));
  }
}

async function lastLog(engine: Engine, container: Container): Promise<string[]> {
  const result = await engine.call(['logs', '--tail', String(logLines), container.id]);
  const lines = `${result.stdout}${result.stderr}`.split(/\r?\n/).filter(Boolean).slice(-logLines);
  const health = container.lastHealthOutput.trim();
  return [
    `the last ${lines.length} lines of ${container.name}:`,
    ...lines.map((line) => `  ${line}`),
    ...(health && container.health !== 'healthy' ? [`its health check said: ${health}`] : []),
  ];
}
