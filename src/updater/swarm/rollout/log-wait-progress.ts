import { formatCount, formatSeconds, joinWithAnd } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { Log } from '../../run/log/run-log.ts';
import { isActiveNode } from '../services/specs.ts';
import type { ServiceView, SwarmWriteKind, WaitStep } from './plan-stack-step.ts';
import type { StackWatch } from './stack-watch.ts';

// Log messages about writes to services, waits and tasks.

export const swarmWriteMessages: Record<SwarmWriteKind, (service: ServiceView) => string> = {
  'stop-worker': ({ move }) => `stopping ${move.name}`,
  'stop-first': ({ move }) => `stopping ${move.name}`,
  'move-app': ({ move }) => `updating ${move.name} to ${move.label}`,
  'move-worker': ({ move }) => `updating ${move.name} to ${move.label}`,
  nudge: ({ move }) =>
    `a node is down, so Swarm stopped updating ${move.name}; continuing the update on the other nodes`,
  hold: ({ move, tasks: { retainableReplicas: held, oldRunning } }) =>
    held === oldRunning.length
      ? `limiting ${move.name} to its ${held} old tasks`
      : `stopping ${move.name}, because Swarm would otherwise replace old tasks with new ones`,
  restore: ({ move }) => `restoring the previous definition of ${move.name}`,
  settle: ({ move }) => `${move.name} is healthy; restoring its original settings and keeping the new image`,
};

export function logWaitProgress(
  log: Log,
  watch: StackWatch,
  { service, what }: WaitStep,
  waitedMs: number,
): void {
  const { move, tasks } = service;
  const { newRunning, requiredCount: needs, newAlive, oldAlive, oldRunning, lost } = tasks;
  const active = watch.nodes.filter(isActiveNode).length;
  const waited = formatSeconds(waitedMs);
  const sentences = {
    ends: `waiting for ${move.name} to stop (${formatCount((watch.isRollingBack ? newAlive : oldAlive).length, 'task')} left, ${waited} so far)`,
    starts: `waiting for ${move.name}: ${newRunning.length} of ${needs} new tasks running, ${active} active nodes (${waited})`,
    returns: `waiting for ${move.name}: ${oldRunning.length} of ${needs} tasks running (${waited})`,
  };
  logWaitIfQuiet(log, sentences[what]);
  if (what !== 'starts' || lost.length === 0 || !watch.isNews('lost', String(lost.length))) return;
  const where = joinWithAnd([...new Set(lost.map(({ node }) => watch.nodeName(node)))]);
  log.warn(
    `${where} went down with an old task of ${move.name} (${lost.map(({ id }) => id).join(', ')}); the task may keep running until the node reconnects`,
  );
}

/** Logs tasks in an unknown state at the end of the run, and tasks that will start later. */
export function logUnresolvedTasks(log: Log, watch: StackWatch): void {
  for (const { move, tasks } of watch.views) {
    for (const task of [...tasks.lost, ...tasks.lostNew])
      log.warn(
        `${watch.nodeName(task.node)} is down, so the state of its task ${task.id} of ${move.name} is unknown: the ${task.image === move.image ? 'new' : 'old'} task may keep running until the node reconnects`,
      );
    if (tasks.waitingCount > 0)
      log.warn(
        `no node is available for ${formatCount(tasks.waitingCount, 'task')} of ${move.name}; Swarm starts missing tasks when a node returns`,
      );
  }
}
