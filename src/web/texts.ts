import type { Channel } from '../release/channel.ts';
import type { CancelCode, EndState, JobKind, ReasonCode, UpToDateCode } from '../wire/codes.ts';
import type { Unit } from './model/ages.ts';
import { plainTexts, several } from './plain-texts.ts';

/** A text, or what makes it of the server's own sentence. */
type Said = string | ((said: string) => string);

/** The words of the phases as `phaseRows` has them. */
type PhaseName =
  | 'waiting'
  | 'preparing'
  | 'prepared'
  | 'checking'
  | 'checked'
  | 'pulling'
  | 'pulled'
  | 'replacing'
  | 'replaced'
  | 'verifying'
  | 'verified';

/**
 * Everything that a person reads, keyed by code where the server has codes. A code that is in no list here is a newer
 * server's, and shown in its own sentence.
 */
export interface Texts extends SingleTexts {
  reasons: Record<ReasonCode, Said>;
  upToDate: Record<UpToDateCode, Said>;
  cancelRefusals: Record<CancelCode, Said>;
  /** How a run ended, in a list. */
  outcomes: Record<EndState, string>;
  phases: Record<PhaseName, string>;
  /** The same as things to do, of what has not begun or has not been done. */
  toDo: Record<PhaseName, string>;
  jobKinds: Record<JobKind, string>;
  channels: Record<Channel, { name: string; about: string }>;
  /** `3 s`, `2 min`, `5 h`, `3 days`. */
  units: Record<Unit, (count: number) => string>;
}

type SingleTexts = typeof plainTexts;

const own = (said: string): string => said;

const english: Texts = {
  ...plainTexts,
  reasons: {
    'not-compose': own,
    swarm: own,
    'no-engine': own,
    'no-directory': own,
    'store-unavailable': own,
    'update-running': own,
    'foreign-container': own,
    'deployment-queued': own,
    'deployment-running': own,
    'backup-running': own,
    'cron-running': own,
    'cleanup-running': own,
    'job-running': own,
    'up-to-date': own,
  },
  upToDate: {
    newest: own,
    ahead: own,
    unread: own,
    off: own,
    none: own,
    lags: own,
    'unknown-version': own,
    'upgrade-step': own,
  },
  cancelRefusals: { 'not-running': own, 'too-late': own },
  outcomes: {
    updated: 'updated',
    unchanged: 'unchanged',
    refused: 'refused',
    failed: 'failed',
    broken: 'broken',
    cancelled: 'cancelled',
    crashed: 'cut off',
  },
  phases: {
    waiting: 'Waiting',
    preparing: 'Preparing',
    prepared: 'Prepared',
    checking: 'Checking',
    checked: 'Checked',
    pulling: 'Pulling',
    pulled: 'Pulled',
    replacing: 'Replacing',
    replaced: 'Replaced',
    verifying: 'Verifying',
    verified: 'Verified',
  },
  toDo: {
    waiting: 'Wait',
    preparing: 'Prepare',
    prepared: 'Prepare',
    checking: 'Check',
    checked: 'Check',
    pulling: 'Pull',
    pulled: 'Pull',
    replacing: 'Replace',
    replaced: 'Replace',
    verifying: 'Verify',
    verified: 'Verify',
  },
  jobKinds: { deployment: 'deployment', backup: 'backup', cron: 'cron job', cleanup: 'cleanup', job: 'job' },
  channels: {
    stable: {
      name: 'stable',
      about: 'New versions once they are released, with notes. Right for almost everybody.',
    },
    canary: {
      name: 'canary',
      about:
        'Every change as soon as it is built, days or weeks earlier and less tested. When you leave canary, your version stays until a newer stable release is out.',
    },
  },
  units: {
    second: (count) => `${count} s`,
    minute: (count) => `${count} min`,
    hour: (count) => `${count} h`,
    day: (count) => several(count, 'day', 'days'),
  },
};

type Overrides = {
  [K in Exclude<keyof Texts, 'product'>]?: Texts[K] extends Record<string, unknown>
    ? Partial<Texts[K]>
    : Texts[K];
} & {
  /** What the product is called: its record, or how people write it. */
  product?: string | { readonly name: string };
};

export type { Overrides as TextOverrides };

let current: Texts = english;
const listeners = new Set<() => void>();

export const texts = (): Texts => current;

/** Replaces texts, for a translation or another name of the product; what is not named stays. */
export function setTexts({ product, ...overrides }: Overrides): void {
  if (product !== undefined)
    current = { ...current, product: typeof product === 'string' ? product : product.name };
  const merged = Object.entries(overrides).map(([key, text]) => {
    const before = current[key as keyof Texts];
    const isList = typeof before === 'object' && typeof text === 'object';
    return [key, isList ? { ...before, ...text } : text];
  });
  current = { ...current, ...Object.fromEntries(merged) };
  for (const listener of listeners) listener();
}

/** Tells when texts were replaced, until what it gives is called. */
export function onTexts(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The text of a code; the server's own sentence where the code is none that this page knows. */
export function saidOf(list: Readonly<Partial<Record<string, Said>>>, code: string, said: string): string {
  // An own name only: a code may be called `constructor`.
  const text = Object.hasOwn(list, code) ? list[code] : undefined;
  return typeof text === 'function' ? text(said) : (text ?? said);
}
