import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { diskFileSystem, replaceFileSafely } from '../../../core/files/file-system.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import { storedFieldSchemas } from '../../run/state/stored-fields.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { hashPlan } from '../prepare/hash-plan.ts';

const fileName = 'rehearsed.json';
const maxAgeMs = 7 * 24 * 3_600_000;

const resultSchema = z.strictObject({
  /** Hash of the rehearsed plan. */
  plan: storedFieldSchemas.hash,
  /** Start of the rehearsal, in ISO 8601. */
  at: z.iso.datetime(),
  /** Whether the new version became ready; null without a result. */
  isReady: z.nullable(z.boolean()),
  message: z.string(),
});
/** Result of the last rehearsal. */
export interface RehearsalResult extends z.infer<typeof resultSchema> {}

/** @param state - state directory */
export const writeRehearsalResult = (state: string, result: RehearsalResult): Promise<void> =>
  replaceFileSafely(diskFileSystem, join(state, fileName), JSON.stringify(result), { mode: 0o600 });

/**
 * Returns the result for this plan. Null if there is none, or if it is older than seven days.
 * @param now - in milliseconds since the epoch
 */
export async function findRehearsalResult(
  state: string,
  plan: PreparedPlan,
  now: number,
): Promise<RehearsalResult | null> {
  const text = await readFile(join(state, fileName), 'utf8').catch(() => '');
  const { data } = createJsonTextSchema(resultSchema).safeParse(text);
  return data?.plan === hashPlan(plan) && now - Date.parse(data.at) <= maxAgeMs ? data : null;
}
