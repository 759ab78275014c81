import * as z from 'zod/mini';
import { channelFileSchema } from '../../provenance/channel-file.ts';
import { parseRehearsal, parseRun } from '../../wire/api-client/parse-responses.ts';
import type { Rehearsal, Run } from '../../wire/status.ts';
import { applyAutomaticUpdateDefaults } from '../contract/automatic-update-settings.ts';
import { automaticUpdateFieldSchemas } from '../contract/schemas.ts';

/**
 * A stored run is parsed like a run in a response, because older servers write fewer fields, and newer servers write
 * more.
 */
const runSchema = z.pipe(
  z.transform(parseRun),
  z.custom<Run>((read) => read !== null),
);

/** Results of rehearsals, at most one for each version, newest first. */
export const storedRehearsalsSchema = z.array(
  z.pipe(
    z.transform(parseRehearsal),
    z.custom<Rehearsal>((read) => read !== null),
  ),
);

/** Server process, identified by its container's id and a random UUID. */
const serverProcessSchema = z.object({ container: z.string(), word: z.string() });
export type ServerProcess = z.infer<typeof serverProcessSchema>;

/** Open run, which is shared by all servers of the instance. */
export const openRunSchema = z.object({
  /** Last state stored before the updater was launched. Later states are only in the updater's log. */
  run: runSchema,
  /** Server process that accepted the run. */
  server: serverProcessSchema,
  /** Id of the updater container; null if no updater was started or its id could not be written. */
  updater: z.nullable(z.string()),
  /** ISO 8601 time at which the last server that followed this run began to shut down; null if the time is unknown. */
  serverStoppedAt: z.nullable(z.string()),
});
export type OpenRun = z.infer<typeof openRunSchema>;

const pastRunSchema = z.object({
  run: runSchema,
  /** Last start of the updater container, as reported by the engine; null if there was no container. */
  updaterStartedAt: z.nullable(z.string()),
  /**
   * Whether `onEnd` has succeeded. `attempts` counts its calls; `teller` is the server process that made the last call.
   */
  told: z.boolean(),
  attempts: z.int(),
  teller: z.nullable(serverProcessSchema),
});
/** Finished run, and the state of its `onEnd` notification. */
export type PastRun = z.infer<typeof pastRunSchema>;
export const pastRunsSchema = z.array(pastRunSchema);

export const storedSkippedReleaseSchema = z.object({ version: z.string(), since: z.string() });

const time = z.iso.datetime();
/** For each signer, the publication time of the last offered release. */
const bySigner = z.optional(z.record(z.string(), time));
export const publicationTimesSchema = z.object({ stable: bySigner, canary: bySigner });

/** For each signer, the last channel file. */
const filesBySigner = z.optional(z.record(z.string(), channelFileSchema));
export const channelFilesSchema = z.object({ stable: filesBySigner, canary: filesBySigner });

/** The instance's random id, and the release that an admin requested before its rollout to this instance. */
export const stagedRolloutSchema = z.object({ instance: z.string(), asked: z.nullable(z.string()) });
export type StagedRollout = z.infer<typeof stagedRolloutSchema>;

/** Fills in defaults for missing settings. */
export const storedAutomaticUpdatesSchema = z.pipe(
  z.object(automaticUpdateFieldSchemas),
  z.transform(applyAutomaticUpdateDefaults),
);

/** Most recent server process of each container. */
export const serverProcessesSchema = z.array(serverProcessSchema);
