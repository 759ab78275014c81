import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from './settings.ts';

const everyMs = 5_000;

/** `svc-worker` in agent mode on another machine: reports its name and version to svc every few seconds. */
export async function runAgent({ version, agentToken, host }: Settings): Promise<void> {
  const { SVC_URL = 'http://127.0.0.1:8080', AGENT_NAME = host } = process.env;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
  for (let isKnown = false; ; ) {
    const answer = await fetch(`${SVC_URL}/api/v1/build-servers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: AGENT_NAME, version }),
      signal: AbortSignal.timeout(everyMs),
    }).catch(() => null);
    if (answer?.ok !== isKnown)
      console.log(answer?.ok ? `connected to ${SVC_URL}` : `${SVC_URL} does not answer`);
    isKnown = answer?.ok ?? false;
    await sleep(isKnown ? everyMs : 500);
  }
}
