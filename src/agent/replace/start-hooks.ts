import { setTimeout as sleep } from 'node:timers/promises';
import { isHook } from '../../engine/api/project-containers.ts';
import { listContainers } from '../../engine/api/query.ts';
import type { CommandResult } from '../../engine/cli/command.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { composeLabels } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { withHeartbeat } from '../log/heartbeat.ts';
import type { Log } from '../log/log.ts';

// `pre_start`, from compose 5.3 on: commands of the new image that `up` runs before the service starts, in a container of
// their own. The service is down meanwhile, and what they did cannot be undone (docs/contract.md 5.8).

const logLines = 50;
const lookEveryMs = 100;
const mostMs = 900_000;

interface Service {
  project: string;
  name: string;
}

const hooksOf = async (
  engine: Engine,
  { project, name }: Service,
  filters: Readonly<Record<string, readonly string[]>> = {},
): Promise<string[]> => {
  const label = [`${composeLabels.project}=${project}`, `${composeLabels.service}=${name}`];
  const listed = await listContainers(engine, { label, ...filters });
  return listed.filter(isHook).map(({ id }) => id);
};

/**
 * Waits for a hook that a killed call of compose has begun: another `up` would run a second one beside it.
 * @throws UpdateError recreate-failed where it does not end
 */
export async function awaitHooks(engine: Engine, service: Service, log: Log): Promise<void> {
  const running = () => hooksOf(engine, service, { status: ['running'] });
  if ((await running()).length === 0) return;
  const sentence = `waiting for the pre_start hook of ${service.name} that was begun earlier`;
  log.info(sentence);
  const beganAt = performance.now();
  const ended = async () => {
    while ((await running()).length > 0) {
      if (performance.now() - beganAt > mostMs) {
        throw new UpdateError('recreate-failed', `a pre_start hook of ${service.name} does not end`);
      }
      await sleep(lookEveryMs);
    }
  };
  await withHeartbeat(log, sentence, ended());
}

interface HookListener {
  /** Of the hook that ran last, as far as the engine has told them; ends the listening. */
  lastLines(): Promise<string[]>;
  close(): void;
}

/** Listens to the hooks that `up` is about to run: compose says little of them, and up to 5.4 they are removed at once. */
export async function listenToHooks(
  engine: Engine,
  service: Service,
  { log, deadlineMs }: { log: Log; deadlineMs: number },
): Promise<HookListener> {
  // Compose 5.5 keeps the container of a hook that has failed.
  const before = new Set(await hooksOf(engine, service));
  const heard = new Map<string, Promise<CommandResult>>();
  let isOver = false;
  const look = async () => {
    for (const id of await hooksOf(engine, service)) {
      if (before.has(id) || heard.has(id)) continue;
      if (heard.size === 0)
        log.info(`running the pre_start hook of ${service.name}, which is down meanwhile`);
      const options = { deadlineMs, repeatable: false };
      heard.set(id, engine.call(['logs', '--follow', '--tail', String(logLines), id], options));
    }
  };
  const looking = (async () => {
    while (!isOver) {
      await look().catch(() => {});
      await sleep(lookEveryMs);
    }
  })();
  return {
    async lastLines() {
      isOver = true;
      await looking;
      await look().catch(() => {});
      const last = await [...heard.values()].at(-1)?.catch(() => null);
      return `${last?.stdout ?? ''}${last?.stderr ?? ''}`.split(/\r?\n/).filter(Boolean).slice(-logLines);
    },
    close: () => {
      isOver = true;
    },
  };
}

/** What compose says where a hook has failed, and from 5.5 on where its container is. */
const failure = /pre_start\[(\d+)\] exited with code (\d+)(?:.*hook container (\w+) retained)?/s;

/** The failure of a hook, with its own last words; null where something else failed. */
export async function hookFailure(
  service: string,
  messages: readonly string[],
  listener: HookListener,
): Promise<UpdateError | null> {
  const said = messages.map((message) => failure.exec(message)).find((match) => match !== null);
  if (!said) return null;
  const [, index, code, kept] = said;
  const lines = await listener.lastLines();
  const count = lines.length === 1 ? 'line' : `${lines.length} lines`;
  return new UpdateError(
    'recreate-failed',
    `pre_start[${index}] of ${service}, which runs before it starts, ended with exit code ${code}`,
    {
      detail: [
        ...(lines.length === 0 ? [] : [`the last ${count} of it:`, ...lines.map((line) => `  ${line}`)]),
        ...(kept === undefined ? [] : [`its container is kept: docker logs ${kept}`]),
      ],
    },
  );
}
