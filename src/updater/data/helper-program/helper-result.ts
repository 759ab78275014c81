import * as z from 'zod/mini';
import { storedFieldSchemas } from '../../run/state/stored-fields.ts';
import type { HelperOperation } from './helper-request.ts';

// Schemas of the lines that main.ts prints; main.ts itself uses only the types. Each line is validated, because main.ts
// processes files that a bad release may have written.

const { list } = storedFieldSchemas;
const text = z.string();
const number = z.number();

const lookSchema = z.strictObject({
  /** `other` is a socket or a device. */
  type: z.enum(['directory', 'file', 'other']),
  /**
   * Path of the mounted directory inside its file system, such as `/opt/svc/data`. `device` is `major:minor`. Both have
   * the format of mountinfo.
   */
  root: text,
  device: text,
  /** The kernel's number for the file system type. */
  fileSystem: number,
  /** Disk space of the contents in bytes, without holes. */
  bytes: number,
  /** Bytes to read when copying the contents, including holes. */
  length: number,
  files: number,
  /** Size of the file system in bytes. `free` is its free space in bytes. */
  size: number,
  free: number,
  /** Number of files and directories that can still be created. */
  freeFiles: number,
  /**
   * Paths of nested file systems or subvolumes. `strange` lists files with unmapped owners, and `tooLong` lists paths
   * that are too long to copy. Each list contains at most five paths.
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
/** Result of `probe`, which checks the disk that will contain restore points. */
export interface DiskProbeResult extends z.infer<typeof probeSchema> {}

const tablesSchema = z.strictObject({
  /**
   * The kernel's mount tables, keyed by process id; `self` is the key of the helper container's table. A table is empty
   * if its process has exited.
   */
  tables: z.record(text, text),
  /** Whether each requested mount is a directory, in the order of the request. */
  directories: list(z.boolean()),
});
/** Result of `tables`. */
export interface MountTables extends z.infer<typeof tablesSchema> {}

export const helperResultSchemas = {
  look: list(lookSchema),
  probe: probeSchema,
  warm: z.null(),
  cold: z.null(),
  /** Hash of each mount's copy. */
  hash: list(storedFieldSchemas.hash),
  /** For each mount, the differences that remain after the restore. */
  restore: list(list(text)),
  /** TCP ports on which a process is listening. */
  ports: z.array(number),
  tables: tablesSchema,
  /** Targets that were reached. */
  reach: list(text),
} satisfies Record<HelperOperation, z.ZodMiniType>;
export type HelperResult<V extends HelperOperation> = z.infer<(typeof helperResultSchemas)[V]>;

/** Progress line before the result: bytes processed so far, over all mounts. */
const progressSchema = z.strictObject({ bytes: number });
export type HelperProgress = z.infer<typeof progressSchema>;

const helperMessageSchema = z.union([
  z.strictObject({ result: z.unknown() }),
  z.strictObject({
    /** Message in the first line, details in the other lines. */
    error: text,
    code: z.enum(['no-space', 'changed', 'failed']),
    /** Path, in the helper container, of the mount that caused the error. */
    at: z.exactOptional(text),
  }),
]);
/** Last line that main.ts prints: the result or the error. */
export type HelperMessage = z.infer<typeof helperMessageSchema>;

export const helperLineSchema = z.union([progressSchema, helperMessageSchema]);
