import { isAbsolute } from 'node:path';
import * as z from 'zod/mini';
import { parseReference } from '../../../core/compose/reference.ts';
import { runForm } from './kept-runs.ts';

/** The fields of a type of another room: a field that the schema lacks does not compile. */
export type FieldsOf<T> = { [K in keyof Required<T>]: z.ZodMiniType<T[K]> };

const like = (form: RegExp) => z.string().check(z.regex(form));
const isImageId = (text: string): boolean => /^(?:sha256:)?[0-9a-f]+$/.test(text);

/**
 * Fields that a run stores for later runs: in a journal, in the record of a stack, in a restore point. No text can be taken
 * for an option of a command or for a path to another place.
 */
export const stored = {
  like,
  list: <T extends z.core.$ZodType>(of: T) => z.readonly(z.array(of)),
  object: z.record(z.string(), z.unknown()),
  /** `20261121T104207Z`; also the name of the run's backups. */
  run: like(runForm),
  /** Of a project, a service, a container. */
  name: like(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/),
  imageId: z.string().check(z.refine(isImageId)),
  reference: z.string().check(z.refine((text) => isImageId(text) || parseReference(text) !== null)),
  path: z.string().check(z.refine((text) => isAbsolute(text) && !text.includes('\0'))),
  /** SHA-256 */
  hash: like(/^[0-9a-f]{64}$/),
};
