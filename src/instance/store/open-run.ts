import * as z from 'zod/mini';
import type { Run } from '../../wire/status.ts';
import { runSchema } from '../contract/schemas.ts';

/** Which boot of which server. */
export interface ServerMark {
  /** Its container's id. */
  container: string;
  /** By chance, of that boot. */
  word: string;
}

/** A run that has not ended, as it stands in the store for all servers of the instance. */
export interface OpenRun {
  /** As it was last told before its updater was launched; from then on its log tells. */
  run: Run;
  /** The server that has accepted it. */
  server: ServerMark;
  /** The updater's container; null where none was started, as far as that could be written. */
  updater: string | null;
  /** When the last server of it was told to stop, ISO 8601. */
  serverStoppedAt: string | null;
}

/** A run that has ended, and who was told. */
export interface PastRun {
  run: Run;
  /** When its updater's container was started the last time, in the engine's words; null where there was none. */
  updaterStartedAt: string | null;
  told: boolean;
  attempts: number;
  /** Who tells it. */
  teller: ServerMark | null;
}

const mark = z.object({ container: z.string(), word: z.string() });

export const openRunSchema = z.object({
  run: runSchema,
  server: mark,
  updater: z.nullable(z.string()),
  serverStoppedAt: z.nullable(z.string()),
}) satisfies z.ZodMiniType<OpenRun>;

export const pastRunsSchema = z.array(
  z.object({
    run: runSchema,
    updaterStartedAt: z.nullable(z.string()),
    told: z.boolean(),
    attempts: z.int(),
    teller: z.nullable(mark),
  }),
) satisfies z.ZodMiniType<PastRun[]>;

/** The words of the last boots, by the ids of their servers' containers. */
export const serversSchema = z.array(mark);
