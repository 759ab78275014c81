import { type FSWatcher, watch } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BadEngine } from '../rig/bad-engine.ts';
import { askEngine, type ContainerInspection, engineSocket } from '../rig/engine-api.ts';
import type { Instance } from '../rig/instance.ts';
import type { UpdaterRun } from '../rig/updater-run.ts';

/** Where in a run something happens to it. */
export interface Moment {
  name: string;
  /** Begins to look before the run starts; `now` may be called more than once, and only the first time counts. */
  watch(instance: Instance, now: (why: string) => void): Promise<Watching>;
}

interface Watching {
  started?(run: UpdaterRun): void;
  stop(): void;
}

/** Does something to a run at that moment; null where the run ended before, else what made the moment. */
export async function atMoment(
  moment: Moment,
  instance: Instance,
  start: () => UpdaterRun,
  act: (run: UpdaterRun) => Promise<unknown> | unknown,
): Promise<{ run: UpdaterRun; why: string | null }> {
  let run: UpdaterRun | undefined;
  let why: string | null = null;
  let acted: Promise<unknown> = Promise.resolve();
  const now = (reason: string) => {
    if (why !== null || run === undefined) return;
    why = reason;
    acted = Promise.resolve(act(run));
    acted.catch(() => {});
  };
  const watching = await moment.watch(instance, now);
  try {
    run = start();
    watching.started?.(run);
    await run.done;
  } finally {
    watching.stop();
  }
  await acted;
  return { run, why };
}

/** Kills the run's container at that moment, as `kill -9` of its first process does: without the engine's help. */
export async function killAt(
  moment: Moment,
  instance: Instance,
  start: () => UpdaterRun,
): Promise<{ run: UpdaterRun; why: string | null }> {
  let pid: Promise<number | null> = Promise.resolve(null);
  let known: number | null = null;
  const begin = () => {
    const run = start();
    pid = hostPid(run);
    pid.then((found) => {
      known = found;
    });
    return run;
  };
  return atMoment(moment, instance, begin, async (run) => {
    // At once where the number is known: in the same turn in which the moment was seen.
    await killProcess(known ?? (await pid), run);
  });
}

async function killProcess(pid: number | null, run: UpdaterRun): Promise<void> {
  if (pid === null) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // Only root may kill another's process; the engine may for everybody who may ask it.
    if ((error as NodeJS.ErrnoException).code === 'EPERM') await run.kill();
  }
}

/** The number on this machine of the first process of the run's container; null where it never had one. */
async function hostPid(run: UpdaterRun): Promise<number | null> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  run.done.then(end, end);
  while (!ended) {
    const { status, body } = await askEngine('GET', `/containers/${run.name}/json`);
    if (status === 200) {
      const { State } = JSON.parse(body) as ContainerInspection & { State: { Pid: number } };
      if (State.Pid > 0) return State.Pid;
    }
    await sleep(15);
  }
  return null;
}

/** The first line of a phase, or the first line that matches; so many milliseconds later. */
export function onLine(pattern: string | RegExp, afterMs = 0): Moment {
  const line = typeof pattern === 'string' ? new RegExp(`^\\S+ [A-Z]+ +${pattern} `, 'm') : pattern;
  const name = `${afterMs === 0 ? 'at' : `${afterMs} ms after`} the line ${typeof pattern === 'string' ? pattern : pattern.source}`;
  return {
    name,
    watch: async (_, now) => {
      let timer: NodeJS.Timeout | undefined;
      return {
        started: (run) => {
          run.waitFor(line, 180).then(
            () => {
              if (afterMs === 0) now(name);
              else timer = setTimeout(() => now(name), afterMs);
            },
            () => {},
          );
        },
        stop: () => clearTimeout(timer),
      };
    },
  };
}

/** So many milliseconds after the updater's first line. */
export function afterMs(ms: number): Moment {
  return { ...onLine(/^./m, ms), name: `${ms} ms after the first line` };
}

/** The k-th change that the updater makes on the disk, counted from 1: its own files, backups, the install's files. */
export function onDiskChange(k: number, seen: (name: string) => void = () => {}): Moment {
  return {
    name: `at change ${k} on the disk`,
    watch: async ({ directory }, now) => {
      let count = 0;
      return watchChanges(directory, (name) => {
        count++;
        seen(name);
        if (count === k) now(`change ${k} on the disk: ${name}`);
      });
    },
  };
}

/** As soon as a file of that name in the compose directory is another: a log line comes later, through the engine. */
export function onFileChange(file: string | RegExp): Moment {
  const isIt = (name: string) => (typeof file === 'string' ? name === file : file.test(name));
  return {
    name: `at the change of ${file}`,
    watch: async ({ directory }, now) =>
      watchChanges(directory, (name) => {
        if (isIt(name)) now(`change of ${name}`);
      }),
  };
}

/** Tells of each name that comes or goes in the compose directory and in what the updater keeps there. */
function watchChanges(directory: string, changed: (name: string) => void): Watching {
  const watchers = new Map<string, FSWatcher>();
  const look = (path: string, under: string) => {
    if (watchers.has(path)) return;
    try {
      const watcher = watch(path, (event, file) => {
        const name = join(under, file ?? '');
        if (name === '.svc-updater') look(join(path, '.svc-updater'), '.svc-updater');
        if (name === '.svc-updater/backup') look(join(path, 'backup'), name);
        // A new name or one that is gone; the copy of the log, and what stands still, are no step of the update.
        if (event !== 'rename' || /last-run\.log$|\.gitignore$|^data|\.svc-updater$/.test(name)) return;
        // Its temporary file has gone in the same moment.
        if (name.endsWith('/journal.json')) return;
        changed(name);
      });
      watcher.on('error', () => {});
      watchers.set(path, watcher);
    } catch {
      // Not there yet: its parent tells when it is.
    }
  };
  look(directory, '');
  look(join(directory, '.svc-updater'), '.svc-updater');
  look(join(directory, '.svc-updater', 'backup'), '.svc-updater/backup');
  return {
    stop: () => {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

/** How many of those steps a good run takes, and a few more. */
export const engineSteps = 16;
const steps = new Set(['create', 'start', 'kill', 'stop', 'die', 'destroy', 'rename']);

/** The k-th thing that happens to a container of app or worker, counted from 1, as the engine tells it. */
export const onEngineStep = (k: number): Moment => onStep(`step ${k} of the engine`, (count) => count === k);

/** The first thing of that kind, such as `kill`, that happens to a container of the service, `app` or `worker`. */
export const onEngineEvent = (action: string, service: string): Moment =>
  onStep(`the ${action} of ${service}`, (_, step) => step === `${action} ${service}`);

function onStep(name: string, isIt: (count: number, step: string) => boolean): Moment {
  return {
    name: `at ${name}`,
    watch: ({ project }, now) => {
      let count = 0;
      const filters = { type: ['container'], label: [`com.docker.compose.project=${project}`] };
      return watchEvents(filters, ({ Action, Actor }) => {
        const service = Actor.Attributes['com.docker.compose.service'];
        if (!steps.has(Action) || (service !== 'app' && service !== 'worker')) return;
        count++;
        if (isIt(count, `${Action} ${service}`)) now(`${name}: ${Action} of ${Actor.Attributes.name}`);
      });
    },
  };
}

interface EngineEvent {
  Action: string;
  /** Nanoseconds since 1970. */
  timeNano: number;
  Actor: { ID: string; Attributes: Readonly<Record<string, string>> };
}

/** Tells of each event that the filters let through, once the engine has begun to answer. */
export async function watchEvents(
  filters: Readonly<Record<string, readonly string[]>>,
  heard: (event: EngineEvent) => void,
): Promise<Watching> {
  const path = `/events?filters=${encodeURIComponent(JSON.stringify(filters))}`;
  const asked = request({ socketPath: engineSocket, path, agent: false });
  await new Promise<void>((resolve, reject) => {
    asked.once('error', reject);
    asked.once('response', (answer) => {
      let rest = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines.filter((each) => each !== '')) heard(JSON.parse(line));
      });
      answer.on('error', () => {});
      resolve();
    });
    asked.end();
  });
  asked.on('error', () => {});
  return { stop: () => asked.destroy() };
}

/** How many changes a good run asks the engine for, the pull and its own end included, and a few more. */
export const engineChanges = 16;

/** Before the k-th change that is asked of the engine, counted from 1: it is never answered, and never done. */
export function beforeEngineChange(engine: BadEngine, k: number): Moment {
  return {
    name: `before change ${k} of the engine`,
    watch: async (_, now) => {
      engine.hang(
        new (class extends RegExp {
          #count = 0;

          override test(asked: string): boolean {
            if (!/^(?:POST|PUT|DELETE) /.test(asked)) return false;
            this.#count++;
            if (this.#count !== k) return false;
            now(`before change ${k} of the engine: ${asked.replace(/\?.*/, '')}`);
            return true;
          }
        })(''),
      );
      return { stop: () => engine.hang(null) };
    },
  };
}
