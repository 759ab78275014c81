import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../src/wire/status.ts';
import { Lost } from '../faults/fault.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { askEngine } from '../rig/engine-api.ts';
import type { ServerInstance } from '../rig/server/server-instance.ts';
import { usualPatience } from '../rig/updater-run.ts';

/** An admin starts the update in the server; the updater replaces the server, which then reports the outcome. */
export async function tryServer(instance: ServerInstance): Promise<void> {
  await instance.offer('v1.1.0');
  const status = await instance.status({ refresh: true });
  if (!status.canUpdate) throw new Lost([`the server offers no update: ${JSON.stringify(status)}`]);
  const before = await look(instance);
  const answer = await instance.startUpdateOverHttp();
  if (answer.status !== 202)
    throw new Lost([`the start is answered ${answer.status}: ${await answer.text()}`]);
  const run = await waitForEnd(instance, usualPatience);
  if (run.state !== 'updated') throw new Lost([`the run ended ${run.state}: ${JSON.stringify(run)}`]);
  await removeEnded(`${instance.name}-svc-updater`);
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  const facts = judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed });
  if (facts.length > 0) throw new Lost(facts);
}

/** Waits for the end of the run; the server is unavailable for some time. */
async function waitForEnd(instance: ServerInstance, seconds: number): Promise<Run> {
  const until = Date.now() + seconds * 1000;
  let last: Run | string = 'never answered';
  while (Date.now() < until) {
    last = await instance.progress().catch(String);
    if (typeof last !== 'string' && last.endedAt !== null) return last;
    await sleep(200);
  }
  throw new Lost([`the run has not ended after ${seconds} s: ${JSON.stringify(last)}`]);
}

/** Waits until the updater has exited, which happens after the last line of its log, and removes its container. */
async function removeEnded(container: string): Promise<void> {
  const { status, body } = await askEngine('POST', `/containers/${container}/wait`);
  if (status !== 200) throw new Error(`the end of the updater: ${status} ${body}`);
  await askEngine('DELETE', `/containers/${container}`);
}
