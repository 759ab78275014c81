import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Moment } from './kill.ts';

interface Steps {
  phase?: string;
  started?: boolean;
  outcome?: { outcome: string } | null;
  point?: { isBack: boolean } | null;
  at?: string | null;
  entries?: { part: unknown; isLost?: true }[];
}

/**
 * The k-th time, counted from 1, that journal or record of a restore point say something new from `save` on: in the same
 * turn in which the file has come to its name.
 */
export function onRecord(k: number): Moment {
  return {
    name: `at record ${k}`,
    watch: async ({ directory }, now) => {
      const watchers = new Map<string, FSWatcher>();
      const known = new Map<string, string>();
      let count = 0;
      const changed = (path: string, file: string) => {
        const word = read(join(path, file));
        if (word === null || known.get(path) === word) return;
        known.set(path, word);
        count++;
        if (count === k) now(`record ${k}: ${file} ${word}`);
      };
      const look = (path: string) => {
        if (watchers.has(path)) return;
        try {
          const watcher = watch(path, (_, file) => {
            if (file === null) return;
            if (file === 'journal.json' || file === 'point.json') return changed(path, file);
            if (file === '.svc-updater' || file === 'restore' || /^\d{8}T\d{6}Z$/i.test(file))
              look(join(path, file));
          });
          watcher.on('error', () => {});
          watchers.set(path, watcher);
          // What was there before it was watched.
          if (/Z$/i.test(path)) changed(path, 'point.json');
        } catch {
          // Not there yet, or gone again.
        }
      };
      const state = join(directory, '.svc-updater');
      for (const path of [directory, state, join(state, 'restore')]) look(path);
      known.set(state, read(join(state, 'journal.json')) ?? '');
      return {
        stop: () => {
          for (const watcher of watchers.values()) watcher.close();
        },
      };
    },
  };
}

/** What a record says of how far it is; null for one that is gone, or before `save`. */
function read(path: string): string | null {
  try {
    const { phase, started, outcome, point, at, entries } = JSON.parse(readFileSync(path, 'utf8')) as Steps;
    if (entries !== undefined) {
      const kept = entries.filter(({ part, isLost }) => part !== null || isLost).length;
      return `${at ? 'begun' : 'planned'}, ${kept} of ${entries.length} kept`;
    }
    if (phase === 'pull' || phase === 'write') return null;
    const more = [
      started && 'started',
      point && (point.isBack ? 'is back' : 'with a point'),
      outcome?.outcome,
    ];
    return [phase, ...more].filter(Boolean).join(', ');
  } catch {
    return null;
  }
}
