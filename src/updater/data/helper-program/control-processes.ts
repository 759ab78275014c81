import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ControlCommand,
  type ControlRequest,
  lowestDiskShare,
  lowestMemoryShare,
  type ProcessEvent,
  parseMemoryInfo,
  watchedDiskPathOf,
} from './control-request.ts';

// Suspends or kills the processes of other containers. This container shares the host's process ids, and its only
// capability is KILL. A process's cgroup path contains the id of its container, and no process can choose that path.

interface FoundProcess {
  pid: number;
  container: string;
  /** State of each thread, as one letter. `T` is suspended; `t`, `Z` and `X` run nothing either. */
  states: string;
}

/** Time in ms between two checks of memory, disks and new processes. */
const checkIntervalMs = 50;
/** Time in ms in which the updater must send its first line. After a restart of this container, no line arrives. */
const firstLineMs = 60_000;
/** Time in ms for which a signal is repeated: the engine may still be starting a container. */
const signalTimeoutMs = 60_000;
const signalIntervalMs = 5;
/** Minimum number of free inodes. */
const fewestFreeFiles = 1_000;

/** A line of the updater, or `end` if standard input is closed. SIGTERM counts as `done`. */
type Input = ControlCommand | 'end';

const print = (event: ProcessEvent['event'], text = '') =>
  new Promise<void>((resolve) => {
    process.stdout.write(`${JSON.stringify({ event, text })}\n`, () => resolve());
  });

/** Reads a file of the kernel; empty if its process has exited. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function findProcesses(containers: readonly string[]): FoundProcess[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const cgroup = readText(`/proc/${pid}/cgroup`);
    const container = containers.find((id) => cgroup.includes(id));
    return container === undefined ? [] : [{ pid: Number(pid), container, states: readStates(pid) }];
  });
}

function readStates(pid: string): string {
  let threads: string[] = [];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {}
  const lines = threads.map((thread) => readText(`/proc/${pid}/task/${thread}/stat`));
  // The program's name, in parentheses, may contain any character.
  return lines.map((line) => line.charAt(line.lastIndexOf(')') + 2)).join('');
}

/** Sends a signal to a process. Ignores errors, because the other processes must get the signal too. */
function sendSignal({ pid, container }: FoundProcess, signal: NodeJS.Signals): void {
  // The process may have exited, and another process may have its id.
  if (!readText(`/proc/${pid}/cgroup`).includes(container)) return;
  try {
    process.kill(pid, signal);
  } catch {}
}

const isRunning = ({ states }: FoundProcess): boolean => /[^TtZX]/.test(states);

/** Suspends all processes, including processes that start during the loop. Returns false after the limit. */
async function suspendAll({ containers, limitMs = 0 }: ControlRequest): Promise<boolean> {
  const endsAt = performance.now() + limitMs;
  while (performance.now() < endsAt) {
    const found = findProcesses(containers);
    // A container without processes has exited, or its processes cannot be seen.
    const isComplete = containers.every((id) => found.some(({ container }) => container === id));
    if (isComplete && !found.some(isRunning)) return true;
    for (const each of found.filter(isRunning)) sendSignal(each, 'SIGSTOP');
    await sleep(signalIntervalMs);
  }
  return false;
}

/** Resumes all processes, including those that this container suspended before it was killed and restarted. */
async function resumeAll({ containers }: ControlRequest): Promise<void> {
  const endsAt = performance.now() + signalTimeoutMs;
  for (;;) {
    // A signal to suspend may still be pending, so all processes get the signal.
    for (const each of findProcesses(containers)) sendSignal(each, 'SIGCONT');
    await sleep(signalIntervalMs);
    const isSuspended = findProcesses(containers).some(({ states }) => states.includes('T'));
    if (!isSuspended || performance.now() > endsAt) return;
  }
}

/** Kills all processes until the updater removes the containers. */
async function killUntil(isDone: () => boolean, { containers }: ControlRequest): Promise<void> {
  for (const endsAt = performance.now() + signalTimeoutMs; performance.now() < endsAt && !isDone(); ) {
    for (const each of findProcesses(containers)) sendSignal(each, 'SIGKILL');
    await sleep(checkIntervalMs);
  }
}

/** Returns the resource that is almost used up: memory, disk space or inodes. Null if there is enough of each. */
function findShortage({ disks = 0 }: ControlRequest): string | null {
  const memory = parseMemoryInfo(readText('/proc/meminfo'));
  if (memory.available < memory.total * lowestMemoryShare) return 'memory';
  // The engine keeps the changes of containers on the disk of this container's root directory.
  for (const path of ['/', ...Array.from({ length: disks }, (_, at) => watchedDiskPathOf(at))]) {
    const { blocks, bavail, files, ffree } = statfsSync(path);
    if (bavail < blocks * lowestDiskShare) return 'disk space';
    if (files > 0 && ffree < fewestFreeFiles) return 'inodes';
  }
  return null;
}

const controls = {
  /** Suspends the processes from the first line until the next line, or until the limit passes. */
  suspend: async (request: ControlRequest, nextInput: () => Promise<Input>) => {
    await resumeAll(request);
    await print('ready');
    if ((await nextInput()) !== 'suspend') return;
    const limit = sleep(request.limitMs, 'limit-passed' as const);
    let isInTime = false;
    let timer: NodeJS.Timeout | undefined;
    try {
      isInTime = await suspendAll(request);
      if (isInTime) {
        // The engine may start a health check in a suspended container.
        const repeat = () => {
          for (const each of findProcesses(request.containers).filter(isRunning)) sendSignal(each, 'SIGSTOP');
        };
        timer = setInterval(repeat, checkIntervalMs);
        await print('suspended');
        isInTime = (await Promise.race([nextInput(), limit])) !== 'limit-passed';
      }
    } finally {
      clearInterval(timer);
      await resumeAll(request);
    }
    await print(isInTime ? 'resumed' : 'limit-passed');
  },
  /** Kills the processes if memory or disk space is short, and when standard input closes. */
  guard: async (request: ControlRequest, nextInput: () => Promise<Input>) => {
    await print('ready');
    let last: Input = 'watch';
    const read = async () => {
      while (last !== 'done') last = await nextInput();
    };
    void read();
    while (last === 'watch') {
      const shortage = findShortage(request);
      if (shortage !== null) {
        await print('shortage', shortage);
        break;
      }
      await sleep(checkIntervalMs);
    }
    await killUntil(() => last === 'done', request);
  },
};

/** Runs `suspend` or `guard`, and exits. */
export async function controlProcesses(verb: keyof typeof controls, request: ControlRequest): Promise<void> {
  const inputs: Input[] = [];
  let wake = () => {};
  const add = (input: Input) => {
    inputs.push(input);
    wake();
  };
  process.stdin.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n')) add(line as Input);
  });
  process.stdin.on('end', () => add('end')).on('error', () => add('end'));
  process.on('SIGTERM', () => add('done'));
  const timer = setTimeout(() => add('end'), firstLineMs);
  const nextInput = async (): Promise<Input> => {
    while (inputs.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    clearTimeout(timer);
    return inputs.shift() ?? 'end';
  };
  await controls[verb](request, nextInput);
  process.exit(0);
}
