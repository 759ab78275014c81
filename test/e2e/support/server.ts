import { setTimeout as sleep } from 'node:timers/promises';
import type { EventSourceMessage } from 'eventsource-parser';
import { inject, onTestFinished } from 'vitest';
import type { ProgressEvent } from '../../../src/core/progress/event.ts';
import type { Run, Status } from '../../../src/wire/status.ts';
import { askEngine } from '../../rig/engine-api.ts';
import {
  type HoldEntry,
  type ServerInstance,
  type ServerOptions,
  startServerInstance,
} from '../../rig/server/server-instance.ts';
import { leave } from './instance.ts';

export type { ServerInstance } from '../../rig/server/server-instance.ts';

/** An instance whose app is a server with the library, removed after the test. */
export async function createServerInstance(options: ServerOptions = {}): Promise<ServerInstance> {
  const instance = await startServerInstance(inject('host'), options);
  onTestFinished(() => leave(instance));
  return instance;
}

/** The name that the server gives its updater. */
export const updaterOf = (instance: ServerInstance): string => `${instance.name}-svc-updater`;

/** The complete inspection of a container; null if it does not exist. */
// biome-ignore lint/suspicious/noExplicitAny: as the engine says it
export async function inspect(name: string): Promise<any> {
  const { status, body } = await askEngine('GET', `/containers/${name}/json`);
  return status === 404 ? null : JSON.parse(body);
}

export async function removeContainer(name: string): Promise<void> {
  const { status, body } = await askEngine('DELETE', `/containers/${name}?force=1`);
  if (status !== 204 && status !== 404) throw new Error(`DELETE ${name}: ${status} ${body}`);
}

/** Sends a request as the admin to one of several servers, not through the load balancer. */
export async function askReplica(
  { project }: ServerInstance,
  number: number,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const { NetworkSettings } = await inspect(`${project}-app-${number}`);
  const address: string = NetworkSettings.Networks[`${project}_internal`].IPAddress;
  const headers = { authorization: 'Bearer admin-token', 'content-type': 'application/json' };
  return fetch(`http://${address}:8080${path}`, { headers, signal: AbortSignal.timeout(30_000), ...init });
}

interface Followed {
  events: EventSourceMessage[];
  runs: Run[];
  lines: ProgressEvent[];
  /** The number of reconnections. */
  reconnections: number;
}

/**
 * Follows the event stream of the run to its end like a browser: reconnects with the last id while the server is
 * unavailable.
 * @param onEvent called with each event
 */
export async function follow(
  instance: ServerInstance,
  onEvent: (event: EventSourceMessage) => void = () => {},
): Promise<Followed> {
  const seconds = 180;
  const events: EventSourceMessage[] = [];
  const until = Date.now() + seconds * 1000;
  for (let reconnections = 0; ; reconnections++) {
    const lastEventId = events.at(-1)?.id;
    try {
      const signal = AbortSignal.timeout(seconds * 1000);
      for await (const event of instance.events(
        lastEventId === undefined ? { signal } : { lastEventId, signal },
      )) {
        events.push(event);
        onEvent(event);
      }
    } catch {
      // The server is unavailable or the connection was lost: the next iteration reconnects.
    }
    if (events.at(-1)?.id?.endsWith(':end')) {
      const data = (name: string) =>
        events.filter(({ event }) => event === name).map((each) => JSON.parse(each.data));
      return { events, runs: data('run'), lines: data('line'), reconnections };
    }
    if (Date.now() > until) throw new Error(`no end of the run: ${JSON.stringify(events.slice(-3))}`);
    await sleep(100);
  }
}

/** Waits for a status that matches. The status is at most two seconds old. */
export async function waitForStatus(
  instance: ServerInstance,
  wanted: (status: Status) => boolean,
): Promise<Status> {
  const seconds = 180;
  const until = Date.now() + seconds * 1000;
  for (;;) {
    const status = await instance.status().catch(() => null);
    if (status !== null && wanted(status)) return status;
    if (Date.now() > until) throw new Error(`not as wanted after ${seconds} s: ${JSON.stringify(status)}`);
    await sleep(50);
  }
}

/** Waits until the last run has ended, the hold is released and the outcome is reported. */
export async function waitForEnd(instance: ServerInstance): Promise<Run> {
  const { run } = await waitForStatus(instance, (status) => status.run?.endedAt != null);
  const until = Date.now() + 60_000;
  while ((await instance.holds()).at(-1)?.action !== 'resume') {
    if (Date.now() > until) throw new Error('the hold is not released');
    await sleep(50);
  }
  // The queue is resumed before the outcome is reported.
  while (
    !(await instance.ended()).some((told) => told.run.id === run?.id && told.run.endedAt === run.endedAt)
  ) {
    if (Date.now() > until) throw new Error('the end is not told');
    await sleep(50);
  }
  return run as Run;
}

/**
 * Errors if the queue was not held from before the first action of a run until its end, or was not resumed soon
 * afterwards. Repeated calls change nothing.
 */
export function judgeHold(holds: readonly HoldEntry[], { startedAt, endedAt }: Run): string[] {
  const [from, to] = [Date.parse(startedAt), Date.parse(endedAt ?? '')];
  const calls = holds.map(({ time, action, server }) => ({ at: Date.parse(time), action, server }));
  const during = calls.filter(({ at }) => at >= from && at < to);
  const after = calls.filter(({ at }) => at >= to);
  const said = ({ at, action, server }: (typeof calls)[number]) =>
    `${action} by ${server} ${at - from} ms after the start`;
  const released = after.find(({ action }) => action === 'resume');
  return [
    ...(during[0]?.action === 'hold' ? [] : ['not held first of all']),
    ...during.filter(({ action }) => action === 'resume').map(said),
    ...(released === undefined ? ['never released'] : []),
    // A server polls every ten seconds, and the machine may be busy. A server that cannot poll resumes after three
    // minutes.
    ...(released !== undefined && released.at - to > 60_000 ? [`late: ${said(released)}`] : []),
  ];
}
