import * as z from 'zod/mini';
import { channelFileSchema } from '../../provenance/channel-file.ts';
import { readRun } from '../../wire/reader-shapes.ts';
import type { Run } from '../../wire/status.ts';
import { automaticSettings } from '../contract/automatic.ts';
import { automaticFields } from '../contract/schemas.ts';

/** A run that an older server has written lacks fields, and one of a newer server has more: it is read as answers are. */
const runSchema = z.pipe(
  z.transform(readRun),
  z.custom<Run>((read) => read !== null),
);

/** Which boot of which server: its container's id, and a word by chance that only this boot has. */
const bootSchema = z.object({ container: z.string(), word: z.string() });
export type ServerBoot = z.infer<typeof bootSchema>;

/** A run that has not ended, as it stands in the store for all servers of the instance. */
export const openRunSchema = z.object({
  /** As it was last told before its updater was launched; from then on its log tells. */
  run: runSchema,
  /** The server that has accepted it. */
  server: bootSchema,
  /** The updater's container; null where none was started, as far as that could be written. */
  updater: z.nullable(z.string()),
  /** When the last server that had it was told to stop, ISO 8601. */
  serverStoppedAt: z.nullable(z.string()),
});
export type OpenRun = z.infer<typeof openRunSchema>;

const pastRunSchema = z.object({
  run: runSchema,
  /** When the updater container was last started, as reported by the engine; null if there was none. */
  updaterStartedAt: z.nullable(z.string()),
  /** Whether the host was told of its end, how often that was tried, and by whom the last time. */
  told: z.boolean(),
  attempts: z.int(),
  teller: z.nullable(bootSchema),
});
/** A run that has ended, and whether the host knows. */
export type PastRun = z.infer<typeof pastRunSchema>;
export const pastRunsSchema = z.array(pastRunSchema);

/** What nobody wants to hear of, and since when. */
export const skippedSchema = z.object({ version: z.string(), since: z.string() });

const time = z.iso.datetime();
/** For each channel, when the release that was offered last was published, by its signer. */
const bySigner = z.optional(z.record(z.string(), time));
export const offeredSchema = z.object({ stable: bySigner, canary: bySigner });

/** For each channel, the last channel file of each signer. */
const filesBySigner = z.optional(z.record(z.string(), channelFileSchema));
export const channelFilesSchema = z.object({ stable: filesBySigner, canary: filesBySigner });

/** The random id of the instance, and the release that an admin asked for before it was rolled out to the instance. */
export const rolloutSchema = z.object({ instance: z.string(), asked: z.nullable(z.string()) });
export type RolloutFacts = z.infer<typeof rolloutSchema>;

/** What starts by itself, and when. */
export const storedAutomatic = z.pipe(z.object(automaticFields), z.transform(automaticSettings));

/** The last boot of each server. */
export const bootsSchema = z.array(bootSchema);
