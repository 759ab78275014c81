import * as z from 'zod/mini';
import { storedFieldSchemas } from '../run/state/stored-fields.ts';
import type { Verb } from './tools-protocol.ts';

// Lines that tools.ts prints. The updater checks each line, because tools.ts handles files that a bad release may have
// written. tools.ts uses only the types.

const { list } = storedFieldSchemas;
const text = z.string();
const number = z.number();

const lookSchema = z.strictObject({
  /** `other` is a socket or a device. */
  type: z.enum(['directory', 'file', 'other']),
  /**
   * Mounted directory of the file system, such as `/opt/svc/data`. `device` is major:minor. Both have the format of
   * mountinfo.
   */
  root: text,
  device: text,
  /** Number of the file system type in the kernel. */
  fileSystem: number,
  /** Bytes on the disk, without holes. */
  bytes: number,
  /** Bytes to read, including holes. */
  length: number,
  files: number,
  /** Size of the file system in bytes. `free` is also in bytes. */
  size: number,
  free: number,
  /** Number of files and directories that can still be created. */
  freeFiles: number,
  /**
   * Up to five paths each: `inside` contains other file systems or subvolumes, `strange` files of unmapped owners,
   * `tooLong` paths that are too long to copy.
   */
  inside: list(text),
  strange: list(text),
  tooLong: list(text),
});
/** Result of `look` for one mount. */
export interface MountInspection extends z.infer<typeof lookSchema> {}

const probeSchema = z.strictObject({
  /** Features that the file system lacks, such as `file owners`, `extended attributes` or `sparse files`. */
  missing: list(text),
  fileSystem: number,
  device: text,
  size: number,
  free: number,
  freeFiles: number,
});
/** Result of `probe`. `/point` is a directory on the disk that will contain restore points. */
export interface Probe extends z.infer<typeof probeSchema> {}

const tablesSchema = z.strictObject({
  /** Kernel lists of mounts, by process and for this container (`self`); empty if the process has ended. */
  tables: z.record(text, text),
  /** Whether each mount of this container is a directory. */
  directories: list(z.boolean()),
});
/** Result of `tables`. */
export interface Tables extends z.infer<typeof tablesSchema> {}

export const toolsResults = {
  look: list(lookSchema),
  probe: probeSchema,
  warm: z.null(),
  cold: z.null(),
  /** Hash of each mount. */
  hash: list(storedFieldSchemas.hash),
  /** Remaining differences of each mount; empty if there are none. */
  restore: list(list(text)),
  /** TCP ports on which a process is listening. */
  ports: z.array(number),
  tables: tablesSchema,
} satisfies Record<Verb, z.ZodMiniType>;
export type ToolsResult<V extends Verb> = z.infer<(typeof toolsResults)[V]>;

/** Progress line before the result: total number of bytes handled so far, over all mounts. */
const progressSchema = z.strictObject({ bytes: number });
export type ToolsProgress = z.infer<typeof progressSchema>;

const toldSchema = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({
    /** Message in the first line, details in the other lines. */
    error: text,
    code: z.enum(['no-space', 'changed', 'failed']),
    /** Path in the container whose mount caused the error. */
    at: z.exactOptional(text),
  }),
]);
/** Last line: the result or the error. */
export type ToolsMessage = z.infer<typeof toldSchema>;

export const toolsLine = z.union([progressSchema, toldSchema]);
