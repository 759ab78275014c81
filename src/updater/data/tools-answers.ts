import * as z from 'zod/mini';
import { stored } from '../run/state/stored-fields.ts';
import type { Verb } from './tools-protocol.ts';

// The lines that tools.ts prints. It handles files that a bad release may have written, so the updater checks each line.
// tools.ts uses only the types.

const { list } = stored;
const text = z.string();
const number = z.number();

const lookSchema = z.strictObject({
  /** Sockets and devices are `other`. */
  type: z.enum(['directory', 'file', 'other']),
  /** The directory of the file system that is mounted, such as `/opt/svc/data`. `device` is major:minor. Both are as in mountinfo. */
  root: text,
  device: text,
  /** The kernel's number for the type of the file system. */
  fileSystem: number,
  /** Bytes on the disk; a hole has none. */
  bytes: number,
  /** Bytes that must be read, holes included. */
  length: number,
  files: number,
  /** Of the file system, in bytes. */
  size: number,
  free: number,
  /** Files and directories that can be created. */
  freeFiles: number,
  /** Up to five paths each: other file systems or subvolumes, owners that are not mapped, paths that are too long to copy. */
  inside: list(text),
  strange: list(text),
  tooLong: list(text),
});
/** The result of `look`, for each mount. */
export interface Look extends z.infer<typeof lookSchema> {}

const probeSchema = z.strictObject({
  /** What its file system cannot hold, in words: `owners`, `modes`, `access-control lists`, `extended attributes`, `holes`. */
  missing: list(text),
  fileSystem: number,
  device: text,
  size: number,
  free: number,
  freeFiles: number,
});
/** The result of `probe`: `/point` is a directory of the disk that is to hold restore points. */
export interface Probe extends z.infer<typeof probeSchema> {}

const tablesSchema = z.strictObject({
  /** The kernel's lists of mounts, by process, and of this container (`self`); empty if it has ended. */
  tables: z.record(text, text),
  /** Whether each mount of this container is a directory. */
  directories: list(z.boolean()),
});
/** The result of `tables`. */
export interface Tables extends z.infer<typeof tablesSchema> {}

export const toolsResults = {
  look: list(lookSchema),
  probe: probeSchema,
  warm: z.null(),
  cold: z.null(),
  /** For each mount. */
  hash: list(stored.hash),
  /** The remaining differences of each mount, none if it is empty. */
  restore: list(list(text)),
  /** The TCP ports on which a process is listening. */
  ports: z.array(number),
  tables: tablesSchema,
} satisfies Record<Verb, z.ZodMiniType>;
export type ToolsResult<V extends Verb> = z.infer<(typeof toolsResults)[V]>;

/** A line in between: bytes handled so far of all mounts together. */
const progressSchema = z.strictObject({ bytes: number });
export type ToolsProgress = z.infer<typeof progressSchema>;

const toldSchema = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({
    /** The first line is a sentence, the others are details. */
    error: text,
    code: z.enum(['no-space', 'changed', 'failed']),
    /** The path in the container whose mount the error is about. */
    at: z.exactOptional(text),
  }),
]);
/** The last line. */
export type Told = z.infer<typeof toldSchema>;

export const toolsLine = z.union([progressSchema, toldSchema]);
