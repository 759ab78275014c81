import { expect, onTestFinished } from 'vitest';
import { watchEvents } from '../../faults/kill.ts';

const actions = ['kill', 'die', 'start'] as const;

/** Seconds since 1970. */
type Replaced = Record<(typeof actions)[number], number>;

/**
 * The times at which the container with this name is replaced from now on, as reported by the engine: the old container
 * gets a signal (`kill`) and exits (`die`), and the new container starts. The engine reports each event only
 * afterwards.
 */
export async function watchReplaced(name: string): Promise<{ stop(): Promise<Replaced> }> {
  const times = new Map<string, number>();
  const filters = { type: ['container'], container: [name], event: actions };
  const events = await watchEvents(filters, ({ Action, timeNano }) => {
    if (!times.has(Action)) times.set(Action, timeNano / 1e9);
  });
  onTestFinished(() => events.stop());
  const at = (action: string) => times.get(action) ?? Number.NaN;
  return {
    stop: async () => {
      await expect.poll(() => actions.filter((action) => !times.has(action))).toEqual([]);
      events.stop();
      return { kill: at('kill'), die: at('die'), start: at('start') };
    },
  };
}
