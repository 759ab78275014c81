import { isAbsolute } from 'node:path';
import * as z from 'zod/mini';
import { parseReference } from '../../../core/compose/reference.ts';
import { outcomes } from '../../../core/progress/outcome.ts';
import type { Ending } from '../log/ending.ts';
import { runForm } from './kept-runs.ts';

// Fields that a run stores for later runs: in a journal, in the record of a stack, in a restore point. Unknown fields are
// refused, and no text can be taken for an option of a command or for a path to another place.

/** The fields of a type of another room: a field that the schema lacks does not compile. */
export type FieldsOf<T> = { [K in keyof Required<T>]: z.ZodMiniType<T[K]> };

export const readonlyList = <T extends z.core.$ZodType>(of: T) => z.readonly(z.array(of));
export const textLike = (form: RegExp) => z.string().check(z.regex(form));

const isImageId = (value: string): boolean => /^(?:sha256:)?[0-9a-f]+$/.test(value);

/** `20261121T104207Z`; also the name of the run's backups. */
export const storedRun = textLike(runForm);
/** Of a project, a service, a container: an argument of a command, and so none of its options. */
export const storedName = textLike(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/);
export const storedImageId = z.string().check(z.refine(isImageId));
export const storedReference = z
  .string()
  .check(z.refine((value) => isImageId(value) || parseReference(value) !== null));
export const storedPath = z.string().check(z.refine((value) => isAbsolute(value) && !value.includes('\0')));
/** SHA-256 */
export const storedHash = textLike(/^[0-9a-f]{64}$/);
export const storedObject = z.record(z.string(), z.unknown());

export const storedEnding = z.strictObject({
  outcome: z.enum(outcomes),
  exitCode: z.number(),
  message: z.string(),
  fields: z.exactOptional(storedObject),
} satisfies FieldsOf<Ending>);
