import { execa } from 'execa';
import { expect, inject, it, onTestFinished } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import type { ServerOptions } from '../rig/server/server-instance.ts';
import { alone } from './support/instance.ts';
import {
  createServerInstance,
  inspect,
  judgeHold,
  removeContainer,
  type ServerInstance,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// One press, and an update after the other through releases that have to come first, each by the server of the release
// before (docs/contract.md 8.38). A server is not ready for the next update as long as the test says so.

const way = ['v1.0.0', 'v1.5.0', 'v2.0.0', 'v2.1.0'];
const path = way.slice(1);
const notYet = 'The index is being built.';

/** The releases of the way: the image and the feed say of each that the one before has to come first. */
async function createOnTheWay(
  options: ServerOptions = {},
  { ballast, requires = {} }: { ballast?: number; requires?: Record<string, string> } = {},
): Promise<ServerInstance> {
  const instance = await createServerInstance({ ...options, publish: [] });
  const publish = (version: string, at: number) =>
    instance.publish(version, {
      labels: { 'svc.release-requires': requires[version] ?? `${way[at]}` },
      ...(ballast === undefined ? {} : { ballast }),
    });
  await Promise.all(path.map(publish));
  await instance.offerPath(...way);
  await instance.status({ refresh: true });
  return instance;
}

async function press(instance: ServerInstance): Promise<Run> {
  const answer = await instance.startUpdateOverHttp(undefined, { through: true });
  const run = (await answer.json()) as Run;
  expect({ status: answer.status, run }).toMatchObject({ status: 202 });
  return run;
}

/** That server answers, the run before it has ended, and it says why it does not go on. */
async function waitsAt(instance: ServerInstance, version: string): Promise<Status> {
  const to = path[path.indexOf(version) + 1];
  const is = ({ version: now, between }: Status) =>
    now === version && between?.to === to && between?.says === notYet;
  const status = await waitForStatus(instance, is, 120);
  // Nothing is on: what came in meanwhile runs.
  await expect.poll(async () => (await instance.holds()).at(-1)?.action, { timeout: 30_000 }).toBe('resume');
  return status;
}

const runsAt = (instance: ServerInstance, version: string) =>
  waitForStatus(
    instance,
    ({ version: now, run, between }) => now === version && run?.endedAt != null && between === null,
    180,
  );

const told = async (instance: ServerInstance) =>
  (await instance.history()).map(({ from, to, outcome, by }) => `${from} ${to} ${outcome} ${by}`);

const steps = path.map((version, at) => `${way[at]} ${version} updated admin`).toReversed();

/** The file that has the pin, between two versions. */
const pinned = (from: string, to: string) => ({
  '.env': (text: string) => text.replace(`SVC_VERSION=${from}`, `SVC_VERSION=${to}`),
});

it('goes by one press through three servers, each of which goes on with what the one before has left', async () => {
  const instance = await createOnTheWay();
  const before = await look(instance);
  expect((await instance.status()).next).toMatchObject({ version: 'v1.5.0', path });
  await instance.afterStep({ 'v1.5.0': notYet });
  const first = await press(instance);
  expect(first).toMatchObject({ from: 'v1.0.0', to: 'v1.5.0', path, by: 'admin' });

  const { between, run, reason } = await waitsAt(instance, 'v1.5.0');
  expect(run).toMatchObject({ id: first.id, outcome: 'updated', path });
  expect([between?.since, reason]).toEqual([run?.endedAt, null]);
  const job = await instance.addJob({ kind: 'job', milliseconds: 1 });
  const isDone = async () => (await instance.jobs()).find(({ id }) => id === job.id);
  await expect.poll(isDone, { timeout: 30_000 }).toMatchObject({ progress: 'done' });
  await instance.afterStep({});

  await runsAt(instance, 'v2.1.0');
  const last = await waitForEnd(instance);
  const history = await instance.history();
  expect(await told(instance)).toEqual(steps);
  expect(history.map((one) => one.path)).toEqual([path, path, path]);
  expect(new Set(history.map(({ id }) => id)).size).toBe(3);
  expect(last.message).toMatch(/^updated v2\.0\.0 → v2\.1\.0 in \d+ s;/);
  // Each was begun by the server of the release before, in a container of its own, and told once by the next.
  const holds = await instance.holds();
  const begunBy = history.map(({ startedAt, endedAt }) =>
    holds.find(({ time, action }) => action === 'hold' && time >= startedAt && time < `${endedAt}`),
  );
  expect(begunBy.map((hold) => hold?.version)).toEqual(way.slice(0, 3).toReversed());
  expect(new Set(holds.map(({ version, server }) => `${version} ${server}`)).size).toBe(4);
  const ended = await instance.ended();
  expect(ended.map(({ version, run }) => `${version} ${run.state}`)).toEqual(
    path.map((version) => `${version} updated`),
  );
  for (const one of history) expect(judgeHold(holds, one)).toEqual([]);

  const log = (await instance.read('.svc-updater/last-run.log')).trim().split('\n');
  expect(log.at(-1)).toContain('updated v2.0.0 → v2.1.0');
  await removeContainer(updaterOf(instance));
  const after = await look(instance);
  const changed = pinned('v1.0.0', 'v2.1.0');
  expect(judgeUpdated(before, after, { version: 'v2.1.0', changed })).toEqual([]);
  // Four programs, each of which was started once.
  expect(new Set(way.map((version) => after.tags[`${instance.image}:${version}`])).size).toBe(way.length);
  const starts = after.boots.filter((boot) => boot.startsWith('app '));
  expect(starts).toEqual(way.map((version) => `app ${version}`));
});

/** More than all else of a release that the engine does not have already, so that a pull can be kept from its end. */
const ballast = 12_000_000;

it('ends where the updater was killed, unless that run goes on and ends well; another server of the step goes on', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createOnTheWay({ ...alone, registry: registry.host }, { ballast });
  const updater = updaterOf(instance);
  const app = `${instance.project}-app-1`;
  const before = await look(instance);
  const stall = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    registry.fail({ kind: 'late', after: ballast / 4, until: promise }, { on: 'blobs' });
    return () => {
      registry.fail(null);
      resolve();
    };
  };
  const pulls = (to: string) =>
    waitForStatus(instance, ({ run }) => run?.to === to && run.state === 'pull' && run.endedAt === null, 90);
  const kill = (name: string) => execa('docker', ['kill', '--signal', 'KILL', name]);
  await instance.afterStep({ 'v1.5.0': notYet, 'v2.0.0': notYet });

  // At the first: crashed, nobody goes on with it, and an admin presses once more.
  let goOn = stall();
  const crashed = await press(instance);
  await pulls('v1.5.0');
  await kill(updater);
  expect(await waitForEnd(instance)).toMatchObject({
    id: crashed.id,
    state: 'crashed',
    code: 'updater-ended',
    path,
  });
  expect((await instance.status()).between).toBeNull();
  goOn();
  expect(judgeUntouched(before, { ...(await look(instance)), strays: [], leftovers: [] })).toEqual([]);
  const again = await press(instance);
  expect(again).toMatchObject({ to: 'v1.5.0', path });

  // Between two, the server is killed as where the machine kills it, and the one in its place goes on.
  await waitsAt(instance, 'v1.5.0');
  goOn = stall();
  await kill(app);
  expect(await instance.version()).toBeNull();
  await execa('docker', ['start', app]);
  await waitsAt(instance, 'v1.5.0');
  await instance.afterStep({ 'v2.0.0': notYet });

  // At the second: crashed, until somebody starts that updater again.
  const { run } = await pulls('v2.0.0');
  expect(run).toMatchObject({ from: 'v1.5.0', path });
  await kill(updater);
  expect(await waitForEnd(instance)).toMatchObject({ id: run?.id, state: 'crashed', path });
  expect((await instance.status()).between).toBeNull();
  goOn();
  await execa('docker', ['start', updater]);
  await waitsAt(instance, 'v2.0.0');
  expect((await instance.history())[0]).toMatchObject({ id: run?.id, state: 'updated', path, by: 'admin' });
  goOn = stall();
  await instance.afterStep({});

  // At the last: as where the kernel kills it, which the engine answers by starting it again.
  await pulls('v2.1.0');
  const { Id, State } = await inspect(updater);
  process.kill(State.Pid, 'SIGKILL');
  await expect
    .poll(async () => (await inspect(updater)).RestartCount, { timeout: 60_000, interval: 100 })
    .toBe(1);
  goOn();
  await runsAt(instance, 'v2.1.0');
  await waitForEnd(instance);
  expect((await inspect(updater)).Id).toBe(Id);
  expect(await told(instance)).toEqual([...steps, 'v1.0.0 v1.5.0 crashed admin']);
  await removeContainer(updater);
  const changed = pinned('v1.0.0', 'v2.1.0');
  expect(judgeUpdated(before, await look(instance), { version: 'v2.1.0', changed })).toEqual([]);
});

it('ends where it is cancelled between two, and where one of them is refused', async () => {
  const instance = await createOnTheWay(alone, { requires: { 'v2.1.0': 'v2.0.5' } });
  await instance.afterStep({ 'v1.5.0': notYet, 'v2.0.0': notYet });
  await press(instance);
  await waitsAt(instance, 'v1.5.0');
  await removeContainer(updaterOf(instance));
  const cancelled = await instance.cancelOverHttp();
  expect([cancelled.status, await cancelled.json()]).toMatchObject([
    202,
    { to: 'v1.5.0', outcome: 'updated', path: [] },
  ]);
  expect((await instance.cancelOverHttp()).status).toBe(409);
  // Neither this server nor one that begins anew goes on, ready as it is now.
  await instance.afterStep({ 'v2.0.0': notYet });
  const isOver = { version: 'v1.5.0', between: null, canUpdate: true, next: { path: path.slice(1) } };
  expect(await instance.status()).toMatchObject(isOver);
  await instance.compose('restart', 'app');
  await waitForStatus(instance, ({ next }) => next !== null);
  expect(await instance.status()).toMatchObject(isOver);
  expect(await told(instance)).toEqual(['v1.0.0 v1.5.0 updated admin']);
  expect(await inspect(updaterOf(instance))).toBeNull();

  // From there on somebody gives the worker rights between two, which the next update would hand out.
  const second = await press(instance);
  expect(second).toMatchObject({ from: 'v1.5.0', to: 'v2.0.0', path: path.slice(1) });
  await waitsAt(instance, 'v2.0.0');
  const file = 'compose.prod.yaml';
  const text = await instance.read(file);
  await instance.write(
    file,
    text.replace(/^ {2}worker:\n/m, (line) => `${line}    cap_add: [NET_ADMIN]\n`),
  );
  await removeContainer(updaterOf(instance));
  const before = await look(instance);
  await instance.afterStep({});
  await waitForStatus(instance, ({ run }) => run?.to === 'v2.1.0' && run.endedAt !== null, 60);
  const refused = await waitForEnd(instance);
  expect(refused).toMatchObject({ from: 'v2.0.0', outcome: 'refused', code: 'drift', path: path.slice(1) });
  expect(await instance.status()).toMatchObject({ version: 'v2.0.0', between: null });
  await removeContainer(updaterOf(instance));
  expect(judgeUntouched(before, await look(instance))).toEqual([]);

  // Pressed once more, it is the image that knows of another release that has to come first.
  await instance.write(file, text);
  await press(instance);
  const stepped = await waitForEnd(instance);
  expect(stepped).toMatchObject({ outcome: 'refused', code: 'upgrade-step', step: 'v2.0.5', path: [] });
  expect(await told(instance)).toEqual([
    ...['v2.0.0 v2.1.0 refused admin', 'v2.0.0 v2.1.0 refused admin'],
    ...['v1.5.0 v2.0.0 updated admin', 'v1.0.0 v1.5.0 updated admin'],
  ]);
  await removeContainer(updaterOf(instance));
  expect(judgeUntouched(before, await look(instance), { [file]: text })).toEqual([]);
});
