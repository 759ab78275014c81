import { join } from 'node:path';
import type { TestHost } from '../rig/test-host.ts';
import { type Fault, Lost, type Trial } from './fault.ts';
import type { InstallName } from './install.ts';
import { keepLog } from './keep-log.ts';
import { seeded } from './random.ts';
import { Subject } from './subject.ts';

export interface Settings {
  /** Tries of every fault, in place of its own number. */
  tries?: number | undefined;
  seed: number;
  short: boolean;
  /** Tell what happened in the tries that survived, too. */
  notes: boolean;
  lanes: number;
  /** Where the logs of lost tries are kept. */
  directory: string;
  say(line: string): void;
}

/** A row of the table. */
export interface Row {
  group: string;
  fault: string;
  tries: number;
  lost: number;
  seconds: number;
}

interface Task {
  fault: Fault;
  install: InstallName;
  seed: number;
}

/**
 * From the seed of a try to that of the next one. It has no factor in common with the numbers of kinds and of moments,
 * so that few tries are spread over all of them and many meet each with each.
 */
const stride = 5;
/** Tries that one instance goes through before a fresh one takes its place. */
const triesPerInstance = 20;

/** Runs every try of the faults, side by side, and tells each as it ends. */
export async function runFaults(
  faults: readonly Fault[],
  host: TestHost,
  settings: Settings,
): Promise<Row[]> {
  const rows = new Map(
    faults.map((fault) => [fault, { group: fault.group, fault: fault.name, tries: 0, lost: 0, seconds: 0 }]),
  );
  const tasks = faults.flatMap((fault) => tasksOf(fault, settings));
  const lanes = new Map<number, InstallName>();
  // Each lane stays with its kind of install as long as there is one left, so that an instance serves many tries.
  const next = (lane: number): Task | undefined => {
    const others = [...lanes].flatMap(([other, install]) => (other === lane ? [] : [install]));
    const best = [
      (task: Task) => task.install === lanes.get(lane),
      (task: Task) => !others.includes(task.install),
      () => true,
    ];
    const index = best.map((test) => tasks.findIndex(test)).find((found) => found >= 0) ?? -1;
    const [task] = index < 0 ? [] : tasks.splice(index, 1);
    if (task !== undefined) lanes.set(lane, task.install);
    return task;
  };
  const pool = new Pool(host);
  let ended = 0;
  const runLane = async (lane: number) => {
    for (let task = next(lane); task !== undefined; task = next(lane)) {
      const began = performance.now();
      const { lost, notes } = await runTry(task, host, pool, settings);
      const seconds = (performance.now() - began) / 1000;
      const row = rows.get(task.fault) as Row;
      row.tries++;
      row.seconds += seconds;
      if (lost !== null) row.lost++;
      const { fault, install, seed } = task;
      settings.say(
        `${`${++ended}`.padStart(4)}  ${lost === null ? 'ok  ' : 'LOST'}  ${fault.group}: ${fault.name}, ${install}, seed ${seed}, ${seconds.toFixed(1)} s`,
      );
      for (const line of [...(settings.notes ? notes : []), ...(lost ?? [])])
        settings.say(`            ${line}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: settings.lanes }, (_, lane) => runLane(lane)));
  } finally {
    await pool.close();
  }
  return [...rows.values()].filter(({ tries }) => tries > 0);
}

function tasksOf(fault: Fault, { tries, seed: base, short }: Settings): Task[] {
  const planned = short ? fault.shortTries : fault.tries;
  const count = planned === 0 ? 0 : (tries ?? planned);
  return Array.from({ length: count }, (_, index) => {
    const seed = base + index * stride;
    const install = fault.installs[seed % fault.installs.length];
    if (install === undefined) throw new Error(`${fault.name} names no kind of install`);
    return { fault, install, seed };
  });
}

interface Ended {
  /** The facts of a loss, and where its logs are; null where the try survived. */
  lost: string[] | null;
  notes: string[];
}

async function runTry(task: Task, host: TestHost, pool: Pool, settings: Settings): Promise<Ended> {
  const { fault, install, seed } = task;
  const notes: string[] = [];
  const works: (() => Promise<unknown>)[] = [];
  const used: Subject[] = [];
  const began = performance.now();
  const note = (text: string) => {
    notes.push(`${((performance.now() - began) / 1000).toFixed(2).padStart(7)} s  ${text}`);
  };
  const trial: Trial = {
    host,
    install,
    seed,
    random: seeded(seed),
    short: settings.short,
    note,
    subject: async (options) => {
      const subject =
        options === undefined ? await pool.take(install) : await Subject.start(host, install, options);
      used.push(subject);
      if (options !== undefined) subject.tries = triesPerInstance;
      subject.runs = [];
      note(`instance ${subject.instance.name} at ${subject.release.version}`);
      return subject;
    },
    finally: (work) => {
      works.push(work);
    },
  };
  let failure: unknown;
  let failed = false;
  try {
    await fault.run(trial);
  } catch (error) {
    failed = true;
    failure = error;
  }
  for (const work of works.reverse()) {
    await work().catch((error) => {
      if (!failed) failure = error;
      failed = true;
    });
  }
  if (!failed) {
    await Promise.all(used.map((subject) => pool.give(subject)));
    return { lost: null, notes };
  }
  note('lost');
  const facts = failure instanceof Lost ? failure.facts : [`${(failure as Error)?.stack ?? failure}`];
  const name = `${fault.group}-${fault.name}-${install}-${seed}.log`.replace(/[^\w.-]+/g, '-');
  const file = join(settings.directory, name);
  const kept = await keepLog(file, { facts, notes, used }).then(
    () => file,
    (error) => `no log was kept: ${error}`,
  );
  await Promise.all(used.map(({ instance }) => instance.dispose()));
  const again = `--fault '${fault.name}' --tries 1 --seed ${seed}`;
  return {
    lost: [...facts, `log: ${kept}`, `again: scripts/campaign faults ${fault.group} ${again}`],
    notes,
  };
}

/** Instances between tries; as few as can be, as each costs the machine its health checks. */
class Pool {
  readonly #host: TestHost;
  #idle: Subject[] = [];

  constructor(host: TestHost) {
    this.#host = host;
  }

  async take(install: InstallName): Promise<Subject> {
    const found = this.#idle.find((subject) => subject.install === install);
    if (found !== undefined) {
      this.#idle = this.#idle.filter((subject) => subject !== found);
      return found;
    }
    const stale = this.#idle;
    this.#idle = [];
    await Promise.all(stale.map(({ instance }) => instance.dispose()));
    return Subject.start(this.#host, install);
  }

  async give(subject: Subject): Promise<void> {
    subject.tries++;
    if (subject.tries < triesPerInstance) this.#idle.push(subject);
    else await subject.instance.dispose();
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map(({ instance }) => instance.dispose()));
  }
}
