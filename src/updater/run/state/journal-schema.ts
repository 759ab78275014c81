import { basename } from 'node:path';
import * as z from 'zod/mini';
import type { Owner } from '../../../core/files/file-system.ts';
import type { FileRecord } from '../../../core/files/transaction/file-record.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import type { CopiedFile } from '../../../engine/containers/copied-files.ts';
import { userEditsSchema } from '../log/outcome-details.ts';
import { runStateSchema } from './run-state.ts';
import { type FieldsOf, storedFieldSchemas } from './stored-fields.ts';

// Schemas and types of the fields of a journal.

const { imageId, like, list, name, object, path, reference } = storedFieldSchemas;
const text = z.string();
const flag = z.boolean();
const id = like(/^[0-9a-f]*$/);

const pointPath = path.check(z.refine((value) => /(?:^|-)\d{8}T\d{6}Z$/.test(basename(value))));

const project = z.object({
  name,
  directory: path,
  files: list(path),
  envFiles: list(path),
  profiles: z.exactOptional(list(like(/^[^-]/))),
  oldNames: z.exactOptional(list(name)),
  asksForNames: z.exactOptional(flag),
} satisfies FieldsOf<ComposeProject>);

const owner = z.object({
  uid: z.int(),
  gid: z.int(),
  mode: z.int(),
  attributes: z.exactOptional(z.nullable(z.record(text, text))),
} satisfies FieldsOf<Owner>);

const file = z.object({
  path,
  real: path,
  before: z.nullable(id),
  after: id,
  backup: z.nullable(path),
  owner: z.nullable(owner),
  temporary: path,
} satisfies FieldsOf<FileRecord>);

const container = z.object({
  id,
  name,
  service: name,
  number: z.number(),
  /** Id of the local image. */
  imageId,
  /** Digest of the image manifest, if the engine reports one. */
  imageManifest: z.exactOptional(imageId),
  /** Image reference from which the container was created. */
  reference,
  /** Start time of the container, to detect whether it was started again later. */
  startedAt: text,
  /**
   * Whether the container must be running after the run, because it was running, paused or restarting, or a previous
   * run had stopped it.
   */
  runs: flag,
  /** Whether the container was stopped when this record was made. */
  down: flag,
  /**
   * Whether the container was running, not unhealthy and not crashing. If so, it must be in this state after a
   * rollback.
   */
  well: flag,
  /** Details of the failed health check of an unhealthy container. */
  failing: z.exactOptional(text),
});

const movedService = z.object({
  name,
  isApp: flag,
  /** Whether the service is only recreated because it shares a namespace with an updated service. */
  follows: flag,
  /** Image after the update; null for a service that keeps its image and only shares a namespace. */
  image: z.nullable(z.object({ reference, id: imageId, manifests: z.exactOptional(list(imageId)) })),
  /** Services that must be healthy before this service starts. */
  awaits: list(name),
  /** Whether `up` runs commands of the new image before the first container starts. */
  hasStartHook: z.exactOptional(flag),
  /**
   * Whether the service is a migration, whose containers must exit before the following services in the list are
   * updated.
   */
  runsOnce: z.exactOptional(flag),
  /**
   * Set if the release adds the service. `replicas` is the number of containers. A separate service is from another
   * publisher and mounts no existing data: after its start, everything can still be rolled back, because its start does
   * not count as the start of the new version.
   */
  added: z.exactOptional(z.object({ replicas: z.int(), isSeparate: flag })),
  /** Whether the release no longer has the service. If so, its containers are stopped and removed. */
  isRemoved: z.exactOptional(flag),
});

const changeover = z.object({
  /**
   * Updated services in the order of the update: migrations that precede the app, the app, other services, and finally
   * services that only share a namespace.
   */
  moved: list(movedService),
  /** All containers of the project before the update, except leftovers of interrupted compose commands. */
  containers: list(container),
  /** Command that is run in each new app container when the container is healthy. */
  ready: z.exactOptional(list(text)),
  /** Texts for log messages. */
  words: z.object({
    /** Old version: `v1.4.2` */
    from: text,
    /** Target version: `v1.5.0` */
    goal: text,
    /** Target version; for a floating tag, together with the version of its image. */
    reached: text,
    /** Sentence with the running version of each service. */
    runs: text,
    warnings: list(text),
    alsoMoved: list(name),
    newServices: list(name),
    changedServices: z.exactOptional(list(name)),
    /**
     * Services that the update does not restart, although their `depends_on` contains `restart: true`. An operator must
     * restart them.
     */
    restartedByHand: z.exactOptional(list(name)),
    /**
     * Migrations that the update does not run, although other services wait until they have completed. An operator must
     * run them.
     */
    runByHand: z.exactOptional(list(name)),
    /** Services that must not be recreated without a dump of their data. Each item is a sentence about one service. */
    dumpFirst: z.exactOptional(list(text)),
    /** IP addresses of containers before the update, with the reverse proxies that may have cached these addresses. */
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
} satisfies FieldsOf<CopiedFile>);

const blueprint = z.object({
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
} satisfies FieldsOf<ContainerSnapshot>);

/** Schema of a journal of format 2 (docs/design.md). */
export const journalSchema = z.object({
  format: z.literal(2),
  run: storedFieldSchemas.run,
  /** Id of the updater's container. `attempt` counts the starts of this container for this run. */
  containerId: id,
  attempt: z.number(),
  /** State in which the previous start was interrupted. `attempt` only counts starts in the same state. */
  interruptedIn: z.exactOptional(text),
  project,
  /** Requested target, such as `v1.5.0` or `canary`; null if no target was requested. */
  target: z.nullable(text),
  services: list(name),
  /** Version before the update: `v1.4.2` */
  from: text,
  state: runStateSchema,
  /** Image id of each image reference before the pull. */
  tags: list(z.object({ reference, imageId })),
  files: list(file),
  /** All containers of the project before the update. */
  containers: list(container),
  /** Planned update of the containers; null until the first container is about to be stopped. */
  changeover: z.nullable(changeover),
  /**
   * Snapshots for recreating the replaced containers. They contain the values of the containers' environment variables.
   */
  blueprints: list(blueprint),
  /** Whether a container of the new version has started. If so, a rollback requires the restore point. */
  started: flag,
  /** Restore point that the run creates or rolls back to. */
  point: z.exactOptional(
    z.nullable(
      z.object({
        /** Directory of the restore point on the host. */
        directory: pointPath,
        /**
         * State of the data:
         * `copying` while all services are running,
         * `saving` after the first service has been stopped,
         * `restored` if the data equals the restore point.
         */
        state: z.enum(['copying', 'saving', 'saved', 'restored']),
        /** Whether the restore point was checked. If so, the rollback may have changed data. */
        isChecked: z.exactOptional(flag),
        /** Services that the restore point covers but the run does not replace, in their start order. */
        services: list(name),
        /** Services that store a queue or cache only in memory and are restarted after a rollback. */
        inMemory: list(name),
        /**
         * Containers that share a namespace with a covered container and are therefore stopped and started together
         * with it.
         */
        riders: list(z.object({ id, name })),
        /** TCP ports on which services without a health check were listening. */
        ports: list(z.object({ service: name, ports: list(z.number()) })),
        /** Restart policies of containers before the rollback changed them. */
        policies: list(z.object({ id, policy: like(/^[a-z-]+(?::\d+)?$/) })),
      }),
    ),
  ),
  /** Files that were not restored, because they were edited during the update. */
  leftAlone: z.exactOptional(userEditsSchema),
});

/** Journal of a run: the state to restore, and the progress of the run (docs/contract.md 5.3). */
export interface JournalData extends z.infer<typeof journalSchema> {}

/** Record of a container before the run. */
export interface ContainerRecord extends z.infer<typeof container> {}

/** A service whose containers the run replaces. */
export interface UpdatedService extends z.infer<typeof movedService> {}

/**
 * All data that `recreate`, `verify` and a rollback need. A run that resumes after a kill reads this data from the
 * journal and executes the same steps.
 */
export interface Rollout extends z.infer<typeof changeover> {}
