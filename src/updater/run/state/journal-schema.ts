import { basename } from 'node:path';
import * as z from 'zod/mini';
import type { FilePermissions } from '../../../core/files/file-system.ts';
import type { FileRecord } from '../../../core/files/transaction/file-record.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import type { CopiedFile } from '../../../engine/containers/copied-files.ts';
import { userEditsSchema } from '../log/outcome-details.ts';
import { storedRunStateSchema } from './run-state.ts';
import { type FieldSchemas, storedFieldSchemas } from './stored-fields.ts';

const { imageId, like, list, name, object, path, reference } = storedFieldSchemas;
const text = z.string();
const flag = z.boolean();
const id = like(/^[0-9a-f]*$/);

const restorePointPathSchema = path.check(z.refine((value) => /(?:^|-)\d{8}T\d{6}Z$/.test(basename(value))));

const project = z.object({
  name,
  directory: path,
  files: list(path),
  envFiles: list(path),
  profiles: z.exactOptional(list(like(/^[^-]/))),
  oldNames: z.exactOptional(list(name)),
  asksForNames: z.exactOptional(flag),
} satisfies FieldSchemas<ComposeProject>);

const owner = z.object({
  uid: z.int(),
  gid: z.int(),
  mode: z.int(),
  attributes: z.exactOptional(z.nullable(z.record(text, text))),
} satisfies FieldSchemas<FilePermissions>);

const file = z.object({
  path,
  real: path,
  before: z.nullable(id),
  after: id,
  backup: z.nullable(path),
  owner: z.nullable(owner),
  temporary: path,
} satisfies FieldSchemas<FileRecord>);

const container = z.object({
  id,
  name,
  service: name,
  number: z.number(),
  imageId,
  /** Set if the engine reports a manifest digest. */
  imageManifest: z.exactOptional(imageId),
  /** Image reference from which the container was created. */
  reference,
  /** Start time, which shows whether the container was started again later. */
  startedAt: text,
  /**
   * Whether the container must run after the update. Set if it was running, paused or restarting, or if a previous run
   * had stopped it.
   */
  runs: flag,
  /** Whether the container was stopped at the time of this record. */
  down: flag,
  /** Whether the container was running, not unhealthy and not crashing. If so, a rollback must restore this state. */
  well: flag,
  /** Output of the failed health check of an unhealthy container. */
  failing: z.exactOptional(text),
});

const updatedServiceSchema = z.object({
  name,
  isApp: flag,
  /** Whether the service is recreated only because it shares a namespace with an updated service. */
  follows: flag,
  /** Image after the update; null for a service that is recreated only because of a shared namespace. */
  image: z.nullable(z.object({ reference, id: imageId, manifests: z.exactOptional(list(imageId)) })),
  /** Services that must be healthy before this service starts. */
  awaits: list(name),
  /** Whether `up` runs commands of the new image before it starts the first container. */
  hasStartHook: z.exactOptional(flag),
  /** Set for a migration. Its containers must exit before the next services in the list are updated. */
  runsOnce: z.exactOptional(flag),
  /**
   * Set if the release adds the service. `replicas` counts its containers. `isSeparate` is set if another publisher's
   * service mounts no existing data. A rollback after its start then needs no restore point.
   */
  added: z.exactOptional(z.object({ replicas: z.int(), isSeparate: flag })),
  /** True if the new release does not have the service: its containers are stopped and removed. */
  isRemoved: z.exactOptional(flag),
});

const rolloutSchema = z.object({
  /**
   * Updated services in their order: migrations before the app, the app, other services, and then services that only
   * share a namespace.
   */
  moved: list(updatedServiceSchema),
  /** All containers of the project before the update, except leftovers of interrupted compose commands. */
  containers: list(container),
  /** Command to run in each new app container once the container is healthy. */
  ready: z.exactOptional(list(text)),
  words: z.object({
    /** Old version: `v1.4.2` */
    from: text,
    /** Target version: `v1.5.0` */
    goal: text,
    /** Target version; for a floating tag, followed by the version of its image. */
    reached: text,
    /** Sentence that states the running version of each service. */
    runs: text,
    warnings: list(text),
    alsoMoved: list(name),
    newServices: list(name),
    changedServices: z.exactOptional(list(name)),
    /**
     * Services with `restart: true` in `depends_on`. The update does not restart them, so the user must restart them.
     */
    restartedByHand: z.exactOptional(list(name)),
    /** Migrations that other services wait for. The update does not run them, so the user must run them. */
    runByHand: z.exactOptional(list(name)),
    /** One sentence for each service that must not be recreated without a dump of its data. */
    dumpFirst: z.exactOptional(list(text)),
    /** IP addresses of containers before the update, with the reverse proxies that may have cached them. */
    addresses: z.exactOptional(list(z.object({ name, ips: list(text), proxies: list(name) }))),
  }),
});

const copied = z.object({
  path,
  content: text,
  mode: z.number(),
  uid: z.number(),
  gid: z.number(),
  modified: z.number(),
} satisfies FieldSchemas<CopiedFile>);

const containerSnapshotSchema = z.object({
  id,
  name,
  imageId,
  imageManifest: z.exactOptional(z.nullable(imageId)),
  imageReference: reference,
  platform: z.nullable(text),
  config: object,
  hostConfig: object,
  networks: z.record(text, object),
  published: z.exactOptional(list(text)),
  copied: z.array(copied),
  lost: z.array(text),
} satisfies FieldSchemas<ContainerSnapshot>);

/** Format 2 is described in docs/run.md. */
export const journalSchema = z.object({
  format: z.literal(2),
  run: storedFieldSchemas.run,
  /** Id of the updater's container. `attempt` counts the starts of this container for this run. */
  containerId: id,
  attempt: z.number(),
  /** State in which the previous start was interrupted. `attempt` counts only consecutive starts in this state. */
  interruptedIn: z.exactOptional(text),
  project,
  /** For example, `v1.5.0` or `canary`; null if no target was requested. */
  target: z.nullable(text),
  services: list(name),
  /** Version before the update: `v1.4.2` */
  from: text,
  state: storedRunStateSchema,
  /** Image id of each image reference before the pull. */
  tags: list(z.object({ reference, imageId })),
  files: list(file),
  /** All containers of the project before the update. */
  containers: list(container),
  /** Planned update of the containers; null until the first container is about to be stopped. */
  changeover: z.nullable(rolloutSchema),
  /** Snapshots for recreating the replaced containers. They contain the values of environment variables. */
  blueprints: list(containerSnapshotSchema),
  /** Whether a container of the new version has started. If so, a rollback requires the restore point. */
  started: flag,
  /** Restore point that the run creates or rolls back to. */
  point: z.exactOptional(
    z.nullable(
      z.object({
        /** Path on the host. */
        directory: restorePointPathSchema,
        /**
         * `copying` while all services are running, `saving` after a service has been stopped, `restored` if the data
         * equals the restore point.
         */
        state: z.enum(['copying', 'saving', 'saved', 'restored']),
        /** Set once the restore point has been checked, because the rollback may change data after the check. */
        isChecked: z.exactOptional(flag),
        /** Services that the restore point covers but the run does not replace, in start order. */
        services: list(name),
        /** Services that store a queue or cache only in memory and are restarted after a rollback. */
        inMemory: list(name),
        /**
         * Containers that share a namespace with a covered container. They are stopped and started together with it.
         */
        riders: list(z.object({ id, name })),
        /** TCP ports on which services without a health check were listening. */
        ports: list(z.object({ service: name, ports: list(z.number()) })),
        /** Restart policies that the rollback has changed, with their previous values. */
        policies: list(z.object({ id, policy: like(/^[a-z-]+(?::\d+)?$/) })),
      }),
    ),
  ),
  /** Files that were not restored, because they were edited during the update. */
  leftAlone: z.exactOptional(userEditsSchema),
});

/** The progress of a run, and the state that a rollback restores (docs/contract.md 5.3). */
export interface JournalData extends z.infer<typeof journalSchema> {}

export interface ContainerRecord extends z.infer<typeof container> {}

export interface UpdatedService extends z.infer<typeof updatedServiceSchema> {}

/**
 * Data for the phases `recreate` and `verify` and for a rollback. A resumed run reads the data from the journal and
 * executes the same steps.
 */
export interface Rollout extends z.infer<typeof rolloutSchema> {}
