import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { listenForContainerChanges } from '../../../engine/containers/container-events.ts';
import { EngineError, findEngineError } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { collapseRepeatedLines } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import { createContainerMaskRules } from '../../run/log/mask-rules.ts';
import type { EngineContext, RunContext } from '../../run/run-context.ts';
import {
  HealthEvaluator,
  type HealthReport,
  type HealthRules,
  type WatchedService,
} from './health-evaluator.ts';
import { PodmanHealthCheckRunner } from './podman-health-check-runner.ts';

const logLines = 50;

/**
 * Waits until the containers are healthy. A container without a health check counts as healthy after 5 s without a
 * restart, or after 15 s if its service is `app`.
 * @throws UpdateError broken, with the last log lines of the unhealthy containers
 */
export async function awaitHealthyContainers(
  context: RunContext,
  containers: readonly { service: string; id: string }[],
  app = '',
): Promise<void> {
  const services = [...Map.groupBy(containers, ({ service }) => service)];
  const ids = containers.map(({ id }) => id);
  const look = async () => {
    const found = await context.engine.inspectContainers(ids);
    return services.map(([name, own]) => {
      const there = found.filter(({ id }) => own.some((each) => each.id === id));
      return { name, containers: there, has: there.length, needs: own.length };
    });
  };
  const rules = { app, timeoutMs: context.options.limits.waitTimeoutMs, missingToleranceMs: 0 };
  await awaitHealthyServices(context, { eventFilters: { container: ids }, inspect: look }, rules);
}

/** A filter for the events of the containers, and a function that inspects the services. */
interface WatchTarget {
  eventFilters: Parameters<typeof listenForContainerChanges>[1];
  inspect: () => Promise<WatchedService[]>;
}

/**
 * Inspects the services after each container event, until all are healthy.
 * @throws UpdateError broken, with the last log lines of the unhealthy containers
 */
export async function awaitHealthyServices(
  { engine, log }: EngineContext,
  { eventFilters: about, inspect: look }: WatchTarget,
  rules: HealthRules,
): Promise<HealthReport[]> {
  const beganAt = performance.now();
  const watch = new HealthEvaluator(rules, beganAt);
  const checks = new PodmanHealthCheckRunner(engine);
  const events = listenForContainerChanges(engine, about);
  const observe = async () => {
    const services = await look();
    const now = performance.now();
    const containers = services.flatMap((service) => service.containers);
    // Mask new passwords from the containers' environment before their logs are printed.
    log.addMaskRules(() => createContainerMaskRules(containers));
    const verdict = watch.evaluate(services.map(shown), now);
    if (verdict.kind === 'waiting') {
      logWaitIfQuiet(log, verdict.sentence);
      await checks.run(containers);
    }
    return verdict;
  };
  const verdict = await waitUntil(observe, (seen) => (seen.kind === 'waiting' ? undefined : seen), {
    pause: (seen) => events.next(seen.kind === 'waiting' ? seen.dueMs : 0),
    signal: engine.aborted,
  }).finally(() => events.close());
  if (verdict.kind === 'unwell') {
    const logs = await Promise.all(verdict.worst.map((container) => readFailureLog(engine, container)));
    throw new UpdateError('broken', verdict.sentence, { detail: logs.flat() });
  }
  for (const { service, doubt } of verdict.reports)
    if (doubt) log.warn(`${service} could not be verified, because its health check ${doubt}`);
  return verdict.reports;

  /** Masks health check output before it is shortened: a truncated password would not be recognized. */
  function shown({ containers, ...service }: WatchedService): WatchedService {
    return {
      ...service,
      containers: containers.map((container) => ({
        ...container,
        lastHealthOutput: log.maskText(container.lastHealthOutput),
      })),
    };
  }
}

/** Returns the last log lines of a container, and the output of its last health check if that failed. */
export async function readFailureLog(engine: Engine, container: Container): Promise<string[]> {
  const health = container.lastHealthOutput.trim();
  const ofHealth = health && container.health !== 'healthy' ? [`health check output: ${health}`] : [];
  const last = { count: logLines, signal: engine.aborted };
  const lines = await engine.readLastLines('readLog', container.id, last).catch((error) => {
    const cause = findEngineError(error);
    if (cause === null) throw error;
    return cause;
  });
  // Some log drivers cannot be read. The engine's error is then printed instead of the log.
  if (lines instanceof EngineError)
    return [`the log of ${container.name} cannot be read: ${lines.message}`, ...ofHealth];
  const count = lines.length === 1 ? 'line' : `${lines.length} lines`;
  return [
    lines.length === 0
      ? `${container.name} has not written anything to its log`
      : `last ${count} printed by ${container.name}:`,
    ...collapseRepeatedLines(lines).map((line) => `  ${line}`),
    ...ofHealth,
  ];
}
