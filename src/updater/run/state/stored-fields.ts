import { isAbsolute } from 'node:path';
import * as z from 'zod/mini';
import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { runNamePattern } from './run-names.ts';

/** One schema for each field of a type from another module. A missing schema is a compile error. */
export type FieldSchemas<T> = { [K in keyof Required<T>]: z.ZodMiniType<T[K]> };

const like = (form: RegExp) => z.string().check(z.regex(form));
const isImageId = (text: string): boolean => /^(?:sha256:)?[0-9a-f]+$/.test(text);

/**
 * Schemas of fields stored for later runs: in a journal, a stack's record or a restore point. No accepted text can be
 * mistaken for a command option or for a path to another location.
 */
export const storedFieldSchemas = {
  like,
  list: <T extends z.core.$ZodType>(of: T) => z.readonly(z.array(of)),
  object: z.record(z.string(), z.unknown()),
  /** Name of a run and of its backups: `20261121T104207Z` */
  run: like(runNamePattern),
  /** Name of a project, a service or a container. */
  name: like(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/),
  imageId: z.string().check(z.refine(isImageId)),
  reference: z.string().check(z.refine((text) => isImageId(text) || parseImageReference(text) !== null)),
  path: z.string().check(z.refine((text) => isAbsolute(text) && !text.includes('\0'))),
  /** SHA-256 digest without a prefix. */
  hash: like(/^[0-9a-f]{64}$/),
};
