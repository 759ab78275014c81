import { Agent, request } from 'node:http';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerInstance, startServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { onTestHost } from './bench-instance.ts';

/** What scripts/bench runs for `status`: how soon a server with the library in it answers, under a steady load. */

const perSecond = 500;
const seconds = 10;
const rounds = 3;
const limitMs = 5;
/** The same server without the library: a line of text. */
const plain = '/version';

interface Spread {
  p50: number;
  p99: number;
  max: number;
}

await onTestHost(async (host) => {
  const instance = await startServerInstance(host, { up: ['--no-deps', 'app', 'worker'] });
  await measure(instance).finally(() => instance.dispose());
});

async function measure(instance: ServerInstance): Promise<void> {
  // As many releases as a project has after years.
  await instance.offer(...Array.from({ length: 100 }, (_, at) => `v1.${at}.0`));
  const status = await instance.status({ refresh: true });
  if (!status.updateAvailable) throw new Error(`no warm feed: ${JSON.stringify(status)}`);
  console.log(
    `GET ${updatePath} as an admin, ${perSecond} requests a second for ${seconds} s, ${availableParallelism()} cores,`,
  );
  console.log(`load ${loadavg()[0]?.toFixed(1)}; milliseconds from a request to the end of its answer`);
  await load(instance, plain);
  console.log('\nround  what      p50     p99     max');
  const all: Record<string, Spread[]> = { [plain]: [], [updatePath]: [] };
  for (let round = 1; round <= rounds; round++) {
    for (const path of [plain, updatePath]) {
      const spread = await load(instance, path);
      all[path]?.push(spread);
      const name = path === plain ? 'plain' : 'status';
      console.log(
        `${round}      ${name.padEnd(7)}${[spread.p50, spread.p99, spread.max].map((ms) => ms.toFixed(2).padStart(8)).join('')}`,
      );
    }
  }
  const median = (path: string, key: keyof Spread) =>
    (all[path] ?? []).map((spread) => spread[key]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ??
    Number.NaN;
  const p99 = median(updatePath, 'p99');
  console.log(
    `\nmedians: status is ${(median(updatePath, 'p50') / median(plain, 'p50')).toFixed(2)} times the plain answer at p50 and ${(p99 / median(plain, 'p99')).toFixed(2)} times at p99; p99 ${p99.toFixed(2)} ms of at most ${limitMs} ms`,
  );
  console.log(JSON.stringify({ status: all[updatePath], plain: all[plain], p99 }));
}

/** An open load: a request is sent when it is due, whether those before it were answered or not. */
async function load(instance: ServerInstance, path: string): Promise<Spread> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const taken: number[] = [];
  const pending: Promise<void>[] = [];
  const began = performance.now();
  for (let sent = 0; sent < perSecond * seconds; ) {
    const due = Math.min(Math.floor(((performance.now() - began) / 1000) * perSecond), perSecond * seconds);
    for (; sent < due; sent++) {
      const sentAt = performance.now();
      pending.push(
        get(instance.port, path, agent).then((endedAt) => {
          taken.push(endedAt - sentAt);
        }),
      );
    }
    await sleep(1);
  }
  await Promise.all(pending);
  agent.destroy();
  taken.sort((a, b) => a - b);
  const at = (share: number) => taken[Math.ceil(taken.length * share) - 1] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function get(port: number, path: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer admin-token' };
    const asked = request({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path}: ${answer.statusCode}`));
      answer.resume();
      answer.once('end', () => resolve(performance.now()));
      answer.once('error', reject);
    });
    asked.once('error', reject);
    asked.end();
  });
}
