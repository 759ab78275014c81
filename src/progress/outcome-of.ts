import type { ProgressEvent } from './event.ts';
import { type Outcome, outcomes } from './outcome.ts';

/** The outcome that an event of phase `done` states with its first word: `updated v1.4.2 → …`, `failed: …`. */
export function outcomeOf({ phase, message }: Pick<ProgressEvent, 'phase' | 'message'>): Outcome | null {
  if (phase !== 'done') return null;
  const word = /^([a-z]+)(?=[\s:;,.]|$)/.exec(message)?.[1];
  return outcomes.find((outcome) => outcome === word) ?? null;
}
