import { join } from 'node:path';
import { linesOf, type Row } from '../judge/report.ts';
import type { TestHost } from '../rig/test-host.ts';
import { type Fault, factsOf, type Trial } from './fault.ts';
import type { InstallName } from './install.ts';
import { keepLog } from './keep-log.ts';
import { seeded } from './random.ts';
import { Subject } from './subject.ts';

export interface Settings {
  /** Number of tries of every fault, instead of the fault's own number. */
  tries?: number | undefined;
  seed: number;
  short: boolean;
  /** Also report the notes of survived tries. */
  notes: boolean;
  lanes: number;
  /** The directory for logs of lost tries. */
  directory: string;
  say(line: string): void;
}

interface Task {
  fault: Fault;
  install: InstallName;
  seed: number;
}

/**
 * The difference between the seeds of two tries. It has no common factor with the numbers of kinds and moments, so
 * that a few tries cover all of them, and many tries all combinations.
 */
const stride = 5;
/** Number of tries on one instance before a new one replaces it. */
const triesPerInstance = 20;

/** Runs all tries of the faults in parallel, and reports each as soon as it is finished. */
export async function runFaults(
  faults: readonly Fault[],
  host: TestHost,
  settings: Settings,
): Promise<Row[]> {
  const rows: Row[] = [];
  // Sorted by kind of install, so that an instance can be used for many tries.
  const tasks = faults
    .flatMap((fault) => tasksOf(fault, settings))
    .sort((a, b) => a.install.localeCompare(b.install));
  const runLane = async () => {
    const lane = new Lane(host);
    try {
      for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
        const { row, notes } = await runTry(task, lane, settings);
        rows.push(row);
        for (const line of linesOf(row)) settings.say(line);
        for (const line of settings.notes ? notes : []) settings.say(`      ${line}`);
      }
    } finally {
      await lane.close();
    }
  };
  await Promise.all(Array.from({ length: settings.lanes }, runLane));
  return rows;
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

async function runTry(
  { fault, install, seed }: Task,
  lane: Lane,
  settings: Settings,
): Promise<{ row: Row; notes: string[] }> {
  const notes: string[] = [];
  const works: (() => Promise<unknown>)[] = [];
  const used: Subject[] = [];
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const note = (text: string) => notes.push(`${seconds().toFixed(2).padStart(7)} s  ${text}`);
  const trial: Trial = {
    host: lane.host,
    install,
    seed,
    random: seeded(seed),
    short: settings.short,
    note,
    subject: async (options) => {
      const isFresh = options !== undefined;
      const subject = isFresh ? await Subject.start(lane.host, install, options) : await lane.take(install);
      used.push(subject);
      if (isFresh) subject.tries = triesPerInstance;
      subject.runs = [];
      note(`instance ${subject.instance.name} at ${subject.release.version}`);
      return subject;
    },
    finally: (work) => {
      works.push(work);
    },
  };
  const failures: unknown[] = [];
  await fault.run(trial).catch((error) => failures.push(error));
  for (const work of works.reverse()) await work().catch((error) => failures.push(error));
  const { group, name } = fault;
  const row: Row = { group, name, tries: 1, lost: 0, seconds: seconds(), detail: `${install}, seed ${seed}` };
  if (failures.length === 0) {
    await Promise.all(used.map((subject) => lane.give(subject)));
    return { row, notes };
  }
  note('lost');
  const facts = factsOf(failures[0]);
  const file = `${group}-${name}-${install}-${seed}.log`.replace(/[^\w.-]+/g, '-');
  const log = join(settings.directory, file);
  const kept = await keepLog(log, { facts, notes, used }).then(
    () => log,
    (error) => `no log was kept: ${error}`,
  );
  await Promise.all(used.map(({ instance }) => instance.dispose()));
  const again = `scripts/campaign faults ${group} --fault '${name}' --tries 1 --seed ${seed}`;
  return { row: { ...row, lost: 1, facts, log: kept, again }, notes };
}

/** Runs tries one after another, with the instance of the previous try. */
class Lane {
  readonly host: TestHost;
  #idle: Subject | null = null;

  constructor(host: TestHost) {
    this.host = host;
  }

  async take(install: InstallName): Promise<Subject> {
    const idle = this.#idle;
    this.#idle = null;
    if (idle?.install === install) return idle;
    await idle?.instance.dispose();
    return Subject.start(this.host, install);
  }

  async give(subject: Subject): Promise<void> {
    subject.tries++;
    if (subject.tries < triesPerInstance && this.#idle === null) this.#idle = subject;
    else await subject.instance.dispose();
  }

  async close(): Promise<void> {
    await this.#idle?.instance.dispose();
  }
}
