import { type EngineEvents, listen } from '../../engine/api/events.ts';
import { inspectContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Log } from '../log/log.ts';
import { seconds } from '../log/words.ts';

/** Events come as they happen; this is for what no event tells, and for those that are lost with the engine. */
const lookEveryMs = 250;
const heartbeatMs = 10_000;
/** Without a health check, this long without a restart counts as well. */
const steadyMs = 5_000;
const logLines = 50;

/** How long each service took, for the log: `app healthy after 1.9 s`. */
export interface HealthReport {
  service: string;
  how: string;
}

/**
 * Waits until every running container of these services is well: healthy where it has a health check, else without a
 * restart for 5 s.
 * @throws UpdateError broken, with the last lines of what the unwell containers printed
 */
export async function awaitHealthy(
  engine: Engine,
  ids: ReadonlyMap<string, readonly string[]>,
  timeoutMs: number,
  log: Log,
): Promise<HealthReport[]> {
  const news = listen(engine, [...ids.values()].flat());
  try {
    return await look(engine, ids, news, timeoutMs, log);
  } finally {
    news.close();
  }
}

async function look(
  engine: Engine,
  ids: ReadonlyMap<string, readonly string[]>,
  news: EngineEvents,
  timeoutMs: number,
  log: Log,
): Promise<HealthReport[]> {
  const begin = Date.now();
  const steady = new Map<string, { startedAt: string; since: number }>();
  const wellAt = new Map<string, { afterMs: number; healthy: boolean }>();
  /** A container that runs has no exit code: between two crashes, the last one seen tells the story. */
  const lastCode = new Map<string, number>();
  let nextBeat = begin + heartbeatMs;
  const all = [...ids.values()].flat();
  for (;;) {
    const containers = await inspectContainers(engine, all);
    const states = containers.map((container) => ({ container, why: whyUnhealthy(container, steady) }));
    for (const { container, why } of states) {
      if (isDown(container)) lastCode.set(container.id, container.exitCode);
      if (why !== null) wellAt.delete(container.id);
      else if (!wellAt.has(container.id)) {
        const afterMs = Math.max(0, Date.now() - Date.parse(container.startedAt));
        wellAt.set(container.id, { afterMs, healthy: container.health !== null });
      }
    }
    const pending = states.filter(({ why }) => why !== null);
    const gone = all.filter((id) => !containers.some((container) => container.id === id));
    if (pending.length === 0 && gone.length === 0) break;
    const dead = pending.filter(({ container }) => hasEnded(container));
    if (dead.length > 0 || gone.length > 0 || Date.now() - begin > timeoutMs) {
      const worst = dead.length > 0 ? dead : pending;
      const sentences = worst.map(
        ({ container, why }) => `${container.name} ${why}${restarts(container, lastCode)}`,
      );
      const lost = gone.length > 0 ? [`${gone.length} container(s) vanished`] : [];
      const waited = dead.length > 0 || gone.length > 0 ? '' : ` after ${seconds(timeoutMs)}`;
      throw new UpdateError('broken', `${[...sentences, ...lost].join(', ')}${waited}`, {
        detail: (await Promise.all(worst.map(({ container }) => lastLog(engine, container)))).flat(),
      });
    }
    if (Date.now() >= nextBeat) {
      nextBeat += heartbeatMs;
      log.info(
        `waiting for ${pending.map(({ container, why }) => `${container.name}: ${why}`).join(', ')} (${seconds(Date.now() - begin)})`,
      );
    }
    await news.next(lookEveryMs);
  }
  return [...ids].flatMap(([name, list]) => {
    const last = list
      .map((id) => wellAt.get(id))
      .sort((a, b) => (a?.afterMs ?? 0) - (b?.afterMs ?? 0))
      .at(-1);
    if (!last) return [];
    const how = last.healthy
      ? `healthy after ${seconds(last.afterMs, 1)}`
      : `up for ${seconds(last.afterMs)} without a restart`;
    return [{ service: name, how }];
  });
}

/** Between two crashes a container may look as if it were just starting. */
function restarts(container: Container, lastCode: ReadonlyMap<string, number>): string {
  if (container.restartCount === 0) return '';
  const code = isDown(container) ? undefined : lastCode.get(container.id);
  return `, restarted ${container.restartCount} times${code === undefined ? '' : ` (last exit code ${code})`}`;
}

const isDown = ({ status }: Container): boolean => ['restarting', 'exited', 'dead'].includes(status);

/** Why a container does not count as well yet, or null. */
function whyUnhealthy(
  container: Container,
  steady: Map<string, { startedAt: string; since: number }>,
): string | null {
  if (container.status !== 'running') {
    const code = isDown(container) ? ` (exit code ${container.exitCode})` : '';
    return `is ${container.status}${code}${container.error ? `: ${container.error}` : ''}`;
  }
  if (container.health !== null) {
    if (container.health === 'healthy') return null;
    const output = container.health === 'unhealthy' && container.lastHealthOutput.trim();
    return `is ${container.health}${output ? ` (${output.split('\n', 1)[0]?.slice(0, 200)})` : ''}`;
  }
  const known = steady.get(container.id);
  if (known?.startedAt !== container.startedAt) {
    steady.set(container.id, { startedAt: container.startedAt, since: Date.now() });
    return 'has just started';
  }
  return Date.now() - known.since >= steadyMs ? null : 'has just started';
}

/** Ended for good: no restart policy brings it back. */
const hasEnded = (container: Container): boolean =>
  ['exited', 'dead'].includes(container.status) &&
  (container.restartPolicy === 'no' ||
    (container.restartPolicy === 'on-failure' && container.exitCode === 0));

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
