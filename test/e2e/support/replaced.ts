import { execa } from 'execa';
import { onTestFinished } from 'vitest';

/** Seconds since 1970; NaN for what has not happened. */
interface Replaced {
  /** The old container was told to stop. */
  kill: number;
  /** It ended. */
  die: number;
  /** The new one started. */
  start: number;
}

/**
 * When the container of that name is replaced, from here on, as the engine tells it. What a server says of its absence
 * lies between these: the old one notes its end between the signal and its exit, the new one begins after its start.
 */
export function watchReplaced(name: string): { stop(): Promise<Replaced> } {
  const actions = ['kill', 'die', 'start'].flatMap((action) => ['--filter', `event=${action}`]);
  const since = `${Date.now() / 1_000}`;
  const events = execa(
    'docker',
    ['events', '--filter', `container=${name}`, ...actions, '--format', '{{json .}}', '--since', since],
    { reject: false },
  );
  onTestFinished(() => void events.kill());
  return {
    stop: async () => {
      events.kill();
      const lines = (await events).stdout.split('\n').filter((line) => line.endsWith('}'));
      const told = lines.map((line) => JSON.parse(line) as { Action: string; timeNano: number });
      const at = (action: string) =>
        (told.find(({ Action }) => Action === action)?.timeNano ?? Number.NaN) / 1e9;
      return { kill: at('kill'), die: at('die'), start: at('start') };
    },
  };
}
