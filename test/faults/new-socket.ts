import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { askEngine, type ContainerInspection } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { type OwnHost, tryOnOwnHost } from './own-host.ts';
import { launched } from './restarted-updater.ts';

// An engine is upgraded with live-restore while containers are replaced: all containers keep running, and the engine's
// socket is a new file, so that the mounted socket no longer works.

const toNext = ['--target', 'v1.1.0'];
const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
/** Less than the 60 s for which the updater waits for an unavailable engine. */
const endsWithinMs = 45_000;

/** Until the container has exited and is not restarted by its restart policy. */
async function ended(name: string): Promise<UpdateResult> {
  const began = performance.now();
  for (;;) {
    const { body } = await askEngine('GET', `/containers/${name}/json`);
    const { State, HostConfig } = JSON.parse(body) as ContainerInspection;
    const durationMs = performance.now() - began;
    if (durationMs > endsWithinMs || (State.Status === 'exited' && HostConfig.RestartPolicy.Name === 'no')) {
      const { all: log } = await execa('docker', ['logs', name], { all: true });
      const lines = log.split('\n').flatMap((line) => parseEventLine(line) ?? []);
      return { exitCode: State.Status === 'exited' ? State.ExitCode : -1, log, lines, durationMs };
    }
    await sleep(200);
  }
}

/** Tests an updater that was started manually, and at the same time one with a restart policy. */
async function tryUpgrade({ host, engine }: OwnHost): Promise<string[]> {
  const release = { version: '1.0.0', env: { STOP_DELAY: '3' } };
  const start = () => startInstance(host, { release, up: ['--no-deps', 'app', 'worker'] });
  const [byHand, byServer] = await Promise.all([start(), start()]);
  const before = await Promise.all([byHand, byServer].map(look));
  const runs = [byHand.startUpdate(toNext, { keep: true }), byServer.startUpdate(toNext, launched)] as const;
  for (const run of runs) run.done.catch(() => {});
  await Promise.all(runs.map((run) => run.waitFor(/INFO +recreate /)));
  await engine.stop();
  await engine.start();
  const [lost, back] = await Promise.all([ended(runs[0].name), ended(runs[1].name)]);
  const facts = [
    ...judgeWords(lost, {
      exitCode: 5,
      says: ['the engine was restarted and has a new socket, but this container still has the old socket'],
      ends: [
        'broken (engine-lost)',
        'then run the update again. The new run continues where this run stopped.',
      ],
    }),
    ...judgeOutcome(back, ['updated']),
    ...(lost.log.split('the engine stopped responding; waiting').length === 2
      ? []
      : ['that it is away is told again']),
  ];
  await execa('docker', ['rm', '--force', ...runs.map(({ name }) => name)]);
  const next = await byHand.update(toNext);
  facts.push(...judgeOutcome(next, ['updated']));
  const after = async (instance: Instance, at: number) => {
    const was = before[at];
    const allowance = { restarted: true };
    const now = await look(instance);
    return was ? judgeUpdated(was, now, { version: 'v1.1.0', changed }, allowance) : [];
  };
  facts.push(...(await after(byHand, 0)), ...(await after(byServer, 1)));
  return facts.length > 0 ? [...facts, lost.log, back.log, next.log] : [];
}

await tryOnOwnHost(import.meta.filename, tryUpgrade, { flags: ['--live-restore'] });
