import { type FSWatcher, watch } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BadEngine } from '../rig/bad-engine.ts';
import { askEngine, type ContainerInspection, engineSocket } from '../rig/engine-api.ts';
import type { Instance } from '../rig/instance.ts';
import type { UpdaterRun } from '../rig/updater-run.ts';

/** A moment in a run at which something happens to it. */
export interface Moment {
  name: string;
  /** Starts watching before the run starts; only the first call of `now` counts. */
  watch(instance: Instance, now: (why: string) => void): Promise<Watching>;
}

interface Watching {
  started?(run: UpdaterRun): void;
  stop(): void;
}

/** Acts on a run at that moment. Returns the event that made the moment; null if the run ended before. */
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

/** Kills the first process of the run's container at that moment with `kill -9`, without the engine's help. */
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
    // Kills at once if the process id is known, in the same turn of the event loop.
    await killProcess(known ?? (await pid), run);
  });
}

async function killProcess(pid: number | null, run: UpdaterRun): Promise<void> {
  if (pid === null) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // Only root may kill another user's process; the engine kills for everybody who may use it.
    if ((error as NodeJS.ErrnoException).code === 'EPERM') await run.kill();
  }
}

/** The process id on this machine of the first process of the run's container; null if it had none. */
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

/** The first line of a phase, or the first line that matches, plus a delay in milliseconds. */
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

/** A number of milliseconds after the updater's first line. */
export function afterMs(ms: number): Moment {
  return { ...onLine(/^./m, ms), name: `${ms} ms after the first line` };
}

/** The k-th change of the updater on the disk, counted from 1: its own files, backups, and the install's files. */
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

/**
 * The moment a file of that name in the compose directory changes. A log line would arrive later, through the engine.
 */
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

/** Reports each name that is added or removed in the compose directory and in the updater's directory. */
function watchChanges(directory: string, changed: (name: string) => void): Watching {
  const watchers = new Map<string, FSWatcher>();
  const look = (path: string, under: string) => {
    if (watchers.has(path)) return;
    try {
      const watcher = watch(path, (event, file) => {
        const name = join(under, file ?? '');
        if (name === '.svc-updater') look(join(path, '.svc-updater'), '.svc-updater');
        if (name === '.svc-updater/backup') look(join(path, 'backup'), name);
        // Only added and removed names count; the copy of the log, and unchanging names, are no steps of the update.
        if (event !== 'rename' || /last-run\.log$|\.gitignore$|^data|\.svc-updater$/.test(name)) return;
        // The journal's temporary file was removed at the same moment.
        if (name.endsWith('/journal.json')) return;
        changed(name);
      });
      watcher.on('error', () => {});
      watchers.set(path, watcher);
    } catch {
      // The directory does not exist yet: the watcher of its parent reports it.
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

/** Number of these steps in a good run, and a few more. */
export const engineSteps = 16;
const steps = new Set(['create', 'start', 'kill', 'stop', 'die', 'destroy', 'rename']);

/** The k-th event of a container of app or worker, counted from 1, as reported by the engine. */
export const onEngineStep = (k: number): Moment => onStep(`step ${k} of the engine`, (count) => count === k);

/** The first event of that action, such as `kill`, for a container of the service, `app` or `worker`. */
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

/** Reports each event that matches the filters, once the engine has begun to respond. */
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

/** Number of changes that a good run requests from the engine, including the pull and its own end, and a few more. */
export const engineChanges = 16;

/** Before the k-th change requested from the engine, counted from 1: the request is neither executed nor answered. */
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
