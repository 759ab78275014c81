import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { linesOf, type Row, report } from '../judge/report.ts';
import {
  deployStack,
  docker,
  type Node,
  nodes,
  on,
  type ServiceOptions,
  type Stack,
  swarm,
  until,
} from '../rig/swarm.ts';
import { oldAfterNew, type Snapshot, snapshot } from '../rig/swarm-judge.ts';
import { runUpdater, type SwarmRun } from '../rig/swarm-run.ts';
import { type Random, seeded } from './random.ts';

// Repeated updates of stacks with deliberate faults: a killed updater, failed or disconnected nodes, and users who
// change the stack, each at a chosen or random moment. Checked is the visible result: running services, no start of an
// old version after a new one, a true last line, and a successful next update.

const usage =
  'usage: scripts/campaign swarm-faults [--minutes N | --tries N] [--seed S] [--fault NAME] [--moment NAME] [--layout NAME] [--target VERSION] [--notes]';

const { values: asked } = parseArgs({
  options: {
    minutes: { type: 'string' },
    tries: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    fault: { type: 'string' },
    moment: { type: 'string' },
    layout: { type: 'string' },
    target: { type: 'string' },
    notes: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (asked.help) {
  console.log(usage);
  process.exit(0);
}

/** Moments by the log line after which they occur. */
const moments = {
  'an image is here': /pull 100%/,
  'all nodes have it': /(have|has) pulled all images/,
  'the worker is stopped': /recreate stopping \S+_worker/,
  'the app is moved': /updating \S+_app to/,
  'a new app runs': /new task \S*_app\S* on \S+: running/,
  'the worker is moved': /updating \S+_worker to/,
  'a new worker runs': /new task \S*_worker\S* on \S+: running/,
  'the app is settled': /_app is healthy/,
} as const;
type Moment = keyof typeof moments;

const layouts: Record<string, Record<string, ServiceOptions>> = {
  'one of each': { app: { replicas: 1 } },
  'three apps': { app: { replicas: 3 }, worker: { replicas: 2 } },
  'global app': { app: { replicas: 'global' } },
  'global worker': { app: { replicas: 2 }, worker: { replicas: 'global' } },
  'start first, rolls back': {
    app: {
      replicas: 2,
      deploy: { update_config: { order: 'start-first', failure_action: 'rollback', parallelism: 0 } },
    },
    worker: { deploy: { update_config: { failure_action: 'rollback' } } },
  },
  'a port of each node': {
    app: {
      replicas: 2,
      deploy: { update_config: { order: 'start-first' } },
      more: { ports: [{ target: 80, published: 8080, mode: 'host' }] },
    },
  },
};

/** Releases with the outcome of an undisturbed update. */
const targets = { '1.5.0': 'updated', '2.0.0': 'updated', '1.6.0': 'broken', '1.7.0': 'broken' } as const;
type Target = keyof typeof targets;

interface Stage {
  stack: Stack;
  run: SwarmRun;
  target: Target;
  random: Random;
  /** Stopped nodes, to be started again before the end. */
  down: Set<Node>;
  /** Actions of users that the checks depend on. */
  did: { wroteOld?: boolean; scaled?: Record<string, number>; killedFirst?: boolean; wrote?: boolean };
}

const leader = async (): Promise<Node> => {
  const rows = await docker('n1', 'node', 'ls', '--format', '{{.Hostname}} {{.ManagerStatus}}');
  return (rows
    .split('\n')
    .find((row) => row.endsWith('Leader'))
    ?.split(' ')[0] ?? 'n1') as Node;
};

const nodeOf = async ({ stack }: Stage, service: string): Promise<Node> => {
  const [node = 'n2'] = await stack.tasks(`${stack.name}_${service}`, '{{.Node}}');
  return node as Node;
};

async function powerOff(stage: Stage, node: Node): Promise<void> {
  stage.down.add(node);
  if (node === 'n1') stage.did.killedFirst = true;
  if (node === stage.stack.manager) stage.stack.manager = nodes.find((each) => each !== node) ?? 'n1';
  await swarm('kill', node);
  // The node returns during the run, or after its end.
  if (stage.random.pick([true, false])) {
    await sleep(stage.random.below(8_000));
    await swarm('start', node);
    stage.down.delete(node);
  }
}

const faults: Record<string, (stage: Stage) => Promise<void>> = {
  nothing: async () => {},
  'the updater is killed': ({ run }) => run.kill(),
  'the leader dies': async (stage) => powerOff(stage, await leader()),
  'the node of the app dies': async (stage) => powerOff(stage, await nodeOf(stage, 'app')),
  'the node of the worker dies': async (stage) => powerOff(stage, await nodeOf(stage, 'worker')),
  'the node of the updater dies': (stage) => powerOff(stage, stage.run.node),
  'a node is cut off': async ({ random, run, stack, did }) => {
    const node = random.pick(nodes.filter((each) => each !== run.node && each !== stack.manager));
    if (node === 'n1') did.killedFirst = true;
    await swarm('cut', node);
    await sleep(5_000 + random.below(20_000));
    await swarm('heal', node);
  },
  'somebody deploys the old file': async (stage) => {
    stage.did.wroteOld = true;
    await stage.stack.deploy('1.4.2');
  },
  'somebody deploys the new file': async (stage) => {
    stage.did.wrote = true;
    await stage.stack.deploy(stage.target);
  },
  'somebody forces an update': async (stage) => {
    stage.did.wrote = true;
    const service = `${stage.stack.name}_${stage.random.pick(['app', 'worker'])}`;
    await docker(stage.stack.manager, 'service', 'update', '--detach', '--force', service);
  },
  'somebody scales': async (stage) => {
    const { stack, random, did } = stage;
    const name = random.pick(['app', 'worker']);
    const isGlobal = stack.options.services?.[name]?.replicas === 'global';
    if (isGlobal) return;
    did.scaled = { [name]: 1 + random.below(3) };
    await docker(stack.manager, 'service', 'scale', '--detach', `${stack.name}_${name}=${did.scaled[name]}`);
  },
  'somebody rolls back': async (stage) => {
    stage.did.wroteOld = true;
    const service = `${stage.stack.name}_${stage.random.pick(['app', 'worker'])}`;
    await on(stage.stack.manager, 'docker', 'service', 'rollback', '--detach', service);
  },
  'an image is pruned': async ({ random }) => {
    const node = random.pick(nodes);
    const images = await docker(
      node,
      'image',
      'ls',
      '--quiet',
      '--filter',
      `reference=*/acme/svc`,
      '--no-trunc',
    );
    for (const image of new Set(images.split('\n').filter(Boolean)))
      await on(node, 'docker', 'image', 'rm', image);
  },
};

const rows: Row[] = [];

async function oneTry(seed: number): Promise<void> {
  const began = performance.now();
  const random = seeded(seed);
  const layout = asked.layout ?? random.pick(Object.keys(layouts));
  const target = (asked.target ?? random.pick(Object.keys(targets))) as Target;
  const fault = asked.fault ?? random.pick(Object.keys(faults));
  const moment = (asked.moment ?? random.pick(Object.keys(moments))) as Moment;
  const first = random.pick(nodes);
  const row: Row = { group: 'swarm', name: fault, tries: 1, lost: 0, seconds: 0 };
  const place = `${layout}, to ${target}, when ${moment}`;
  const history = random.below(8) === 0 ? '0' : '5';
  await docker('n1', 'swarm', 'update', '--task-history-limit', history);
  const stack = await deployStack({ version: '1.4.2', services: layouts[layout] ?? {} });
  const stage: Stage = { stack, target, random, down: new Set(), did: {}, run: undefined as never };
  let log = '';
  try {
    const before = await snapshot(stack);
    const begin = async (node: Node, to: string) => {
      const args = ['--stack', stack.name, '--target', to, '--wait-timeout', '45'];
      return runUpdater(node, args, { patience: 300 });
    };
    stage.run = await begin(first, target);
    const isMet = await stage.run.waitFor(moments[moment], 150).then(
      () => true,
      () => false,
    );
    await sleep(random.pick([0, 0, 300, 1_500]));
    if (isMet) await faults[fault]?.(stage);
    let ended = await stage.run.done;
    log += stage.run.log;
    for (let again = 0; !isEnd(ended.exitCode) && again < 3; again++) {
      const node = random.pick(nodes.filter((each) => !stage.down.has(each)));
      log += `---- again on ${node}\n`;
      stage.run = await begin(node, target);
      ended = await stage.run.done;
      log += stage.run.log;
    }
    ok(isEnd(ended.exitCode), `it never ends: ${ended.exitCode}`);
    for (const node of stage.down) await swarm('start', node);
    await quorum();
    const word = await judge(stage, before, ended.lines.at(-1) ?? '', target);
    if (word !== 'updated' || target !== '2.0.0') {
      log += '---- to 2.0.0\n';
      stage.did = { ...stage.did, wrote: true };
      const on2 = await begin(random.pick(nodes), '2.0.0');
      const next = await on2.done;
      log += on2.log;
      const last = next.lines.at(-1) ?? '';
      if (!(target === '2.0.0' && stage.did.wroteOld)) equal(next.exitCode, 0, `the next update: ${last}`);
      if (next.exitCode === 0) await judge(stage, before, last, '2.0.0');
    }
    row.detail = `${place}: ${word}${isMet ? '' : ', before it happened'}`;
    if (asked.notes) console.log(log);
  } catch (error) {
    const boots = await stack.boots().catch(() => []);
    row.lost = 1;
    row.detail = place;
    row.facts = [(error as Error).message];
    row.log = join(tmpdir(), `svc-updater-swarm-faults-${seed}.log`);
    row.again = `scripts/campaign swarm-faults --seed ${seed} --tries 1`;
    await writeFile(row.log, [log, ...boots, JSON.stringify(stage.did)].join('\n'));
  } finally {
    row.seconds = (performance.now() - began) / 1000;
    rows.push(row);
    for (const line of linesOf(row)) console.log(line);
    for (const node of nodes) await swarm('heal', node);
    for (const node of stage.down) await swarm('start', node);
    await quorum();
    stack.manager = 'n1';
    await stack.remove().catch((error: Error) => process.stdout.write(`not removed: ${error.message}\n`));
  }
}

/** Whether a run has reported its outcome; a killed run has not. */
const isEnd = (code: number | null): boolean => code !== null && [0, 3, 4, 5].includes(code);

const quorum = () =>
  until(
    'all nodes are ready',
    async () => {
      const { stdout } = await on('n1', 'docker', 'node', 'ls', '--format', '{{.Status}} {{.ManagerStatus}}');
      return (
        stdout.split('\n').filter((row) => /^Ready (?:Leader|Reachable)$/.test(row)).length === nodes.length
      );
    },
    120,
  );

async function judge({ stack, did }: Stage, before: Snapshot, last: string, target: string): Promise<string> {
  const word = /\bdone (\w+)/.exec(last)?.[1] ?? '';
  if (word !== 'broken') await until('nothing moves any more', () => isQuiet(stack), 90).catch(() => {});
  const after = await snapshot(stack);
  if (!did.wroteOld) deepEqual(oldAfterNew(after.boots), [], 'an old version booted');
  if (!did.killedFirst) deepEqual(after.dbTasks, before.dbTasks);
  deepEqual(after.networks, before.networks);
  const imageOf = (name: string) => after.specs[name]?.TaskTemplate.ContainerSpec.Image ?? '';
  const running = async (name: string) =>
    (await stack.tasks(`${stack.name}_${name}`, '{{.Image}} {{.CurrentState}}')).filter((row) =>
      / Running/.test(row),
    );
  switch (word) {
    case 'updated':
      for (const name of ['app', 'worker']) {
        match(imageOf(name), new RegExp(`:${target.replaceAll('.', '\\.')}@sha256:`));
        const rows = await running(name);
        const options = stack.options.services?.[name];
        const asDeployed =
          options?.replicas === 'global' ? 3 : (options?.replicas ?? (name === 'app' ? 2 : 1));
        equal(rows.length, did.scaled?.[name] ?? asDeployed, `${name} has ${rows.join(' | ')}`);
        ok(
          rows.every((row) => row.startsWith(imageOf(name))),
          rows.join('\n'),
        );
        if (!did.wrote && !did.scaled && !did.wroteOld)
          deepEqual(bare(after, name), bare(before, name), `the spec of ${name}`);
      }
      break;
    case 'failed':
      if (!did.wrote && !did.scaled && !did.wroteOld) deepEqual(after.specs, before.specs);
      for (const name of ['app', 'worker']) ok((await running(name)).length > 0, `${name} does not run`);
      break;
    case 'broken':
      if (!did.wroteOld) match(imageOf('app'), new RegExp(`:${target.replaceAll('.', '\\.')}@`));
      break;
    case 'refused':
      break;
    default:
      throw new Error(`no word at the end: ${last}`);
  }
  return word;
}

async function isQuiet(stack: Stack): Promise<boolean> {
  const rows = await stack.list('service', '{{.Replicas}}');
  return rows.every((row) => row.split('/')[0] === row.split('/')[1]?.split(' ')[0]);
}

function bare({ specs }: Snapshot, name: string): unknown {
  const rest = structuredClone(specs[name]);
  if (!rest) return rest;
  rest.TaskTemplate.ContainerSpec.Image = '';
  delete rest.Labels['com.docker.stack.image'];
  delete rest.TaskTemplate.Placement?.Platforms;
  return rest;
}

const began = performance.now();
const seed = Number(asked.seed);
const isOver = (done: number): boolean =>
  asked.minutes === undefined
    ? done >= Number(asked.tries ?? '1')
    : performance.now() - began > Number(asked.minutes) * 60_000;
for (let done = 0; !isOver(done); done++) await oneTry(seed + done);
await docker('n1', 'swarm', 'update', '--task-history-limit', '5');
for (const line of report(rows)) console.log(line);
process.exitCode = rows.some(({ lost }) => lost > 0) ? 1 : 0;
