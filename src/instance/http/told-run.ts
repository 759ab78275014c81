import * as z from 'zod/mini';
import type { Run, ToldRun } from '../../wire/status.ts';
import { about, clock, runSchema } from '../contract/schemas.ts';

export const toldRunSchema = about(z.extend(runSchema, { now: clock }), {
  id: 'ToldRun',
  description: 'A run by itself, outside of a status',
}) satisfies z.ZodMiniType<ToldRun>;

/** A run as it crosses HTTP by itself. */
export const toldRun = (run: Run): ToldRun => ({ ...run, now: new Date().toISOString() });
