import { writtenOut } from '../../progress/plain-text.ts';
import type { Caller } from '../contract/options.ts';

/** Who asks, as the handler goes by it. */
export interface Asker {
  isAdmin: boolean;
  /** For people: in a run it says who started it. */
  by: string;
}

/** Characters of a name, which comes from wherever the host has it from. */
const nameLimit = 200;

/** What `authorize` said, as far as it is something that it may say; null for nobody. */
export function askerOf(caller: Caller | undefined): Asker | null {
  const { role, name = '' } =
    typeof caller === 'object' && caller !== null ? caller : { role: caller, name: undefined };
  if ((role !== 'admin' && role !== 'user') || typeof name !== 'string') return null;
  return { isAdmin: role === 'admin', by: shownName(name) || role };
}

/**
 * A name that can stand in a log and on a page without turning either around: line breaks, other control characters and
 * those that set the direction of text are written out.
 */
function shownName(name: string): string {
  return writtenOut([...name.toWellFormed().trim()].slice(0, nameLimit).join(''));
}
