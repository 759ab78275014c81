import { basename } from 'node:path';
import * as z from 'zod/mini';
import type { FileRecord } from '../../../core/files/file-record.ts';
import type { Owner } from '../../../core/files/file-system.ts';
import type { Blueprint } from '../../../engine/api/blueprint.ts';
import type { CopiedFile } from '../../../engine/api/copied-files.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import { leftAloneSchema } from '../log/ending-facts.ts';
import { runStateSchema } from './run-state.ts';
import { type FieldsOf, stored } from './stored-fields.ts';

// A journal's fields and their types.

const { imageId, like, list, name, object, path, reference } = stored;
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
  /** The local image's id. */
  imageId,
  /** The digest of its manifest, where the engine tells. */
  imageManifest: z.exactOptional(imageId),
  /** The reference it was made from. */
  reference,
  /** Shows whether the container was started since. */
  startedAt: text,
  /** The container must run afterwards: it was running, paused or restarting, or an earlier run had stopped it. */
  runs: flag,
  /** It was stopped when this was noted. */
  down: flag,
  /** It was running, was not unhealthy and was not crashing; it must be the same after a rollback. */
  well: flag,
  /** How its health check failed. */
  failing: z.exactOptional(text),
});

const movedService = z.object({
  name,
  isApp: flag,
  /** It only lives in a namespace of one that moves. */
  follows: flag,
  /** What it runs afterwards; null for a follower that keeps its image. */
  image: z.nullable(z.object({ reference, id: imageId, manifests: z.exactOptional(list(imageId)) })),
  /** Services that must be healthy before it starts. */
  awaits: list(name),
  /** `up` runs commands of the new image before the first container starts. */
  hasStartHook: z.exactOptional(flag),
  /** Run to its end before those that come after it in the list. */
  runsOnce: z.exactOptional(flag),
  /**
   * The release adds the service, with so many containers. A separate one is of another publisher and mounts no data from
   * before: its start is not the start of the new version, and everything can still be undone.
   */
  added: z.exactOptional(z.object({ replicas: z.int(), isSeparate: flag })),
  /** The release no longer has the service: its containers are stopped and removed. */
  isRemoved: z.exactOptional(flag),
});

const changeover = z.object({
  /** The app first but for what runs once before it, followers last. */
  moved: list(movedService),
  /** Every container of the project before, compose's leftovers left out. */
  containers: list(container),
  /** Run in a new container of the app once it is healthy. */
  ready: z.exactOptional(list(text)),
  /** What the log says about it. */
  words: z.object({
    /** `v1.4.2` */
    from: text,
    /** `v1.5.0` */
    goal: text,
    /** The same, and beside a floating tag the version of its image. */
    reached: text,
    /** The version that each service runs, as a sentence. */
    runs: text,
    warnings: list(text),
    alsoMoved: list(name),
    newServices: list(name),
    changedServices: z.exactOptional(list(name)),
    /** Left alone, although their `depends_on` says `restart: true`. */
    restartedByHand: z.exactOptional(list(name)),
    /** Not run, although others wait for them to complete. */
    runByHand: z.exactOptional(list(name)),
    /** Services that must not be recreated without a dump of their data, a sentence each. */
    dumpFirst: z.exactOptional(list(text)),
    /** Of containers before the update, with the reverse proxies that may have cached them. */
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
} satisfies FieldsOf<Blueprint>);

/** A journal of format 2 (docs/design.md). */
export const journalSchema = z.object({
  format: z.literal(2),
  run: stored.run,
  /** The updater's container, and how often it has started for this run. */
  containerId: id,
  attempt: z.number(),
  /** The state in which the start before was interrupted: only starts in one state are counted. */
  interruptedIn: z.exactOptional(text),
  project,
  /** As asked for: `v1.5.0`, `canary`, or null. */
  target: z.nullable(text),
  services: list(name),
  /** `v1.4.2` */
  from: text,
  state: runStateSchema,
  /** The image id behind each reference before the pull. */
  tags: list(z.object({ reference, imageId })),
  files: list(file),
  /** Every container of the project before. */
  containers: list(container),
  /** Known before the first container is stopped. */
  changeover: z.nullable(changeover),
  /** What it takes to make the moved containers again; holds the values of their environment. */
  blueprints: list(blueprint),
  /** A container of the new version has started, so only the restore point allows a rollback. */
  started: flag,
  /** The restore point that the run makes, or rolls back to. */
  point: z.exactOptional(
    z.nullable(
      z.object({
        /** Its directory on the host. */
        directory: pointPath,
        /**
         * `copying` while all services are running,
         * `saving` after the first service has been stopped,
         * `restored` if the data equals the restore point.
         */
        state: z.enum(['copying', 'saving', 'saved', 'restored']),
        /** It was checked, and the rollback may have changed data. */
        isChecked: z.exactOptional(flag),
        /** Covered services that are not replaced, in the order in which they start. */
        services: list(name),
        /** Services that keep a queue or cache only in memory: restarted after a rollback. */
        inMemory: list(name),
        /** Containers that live in a namespace of a covered one: stopped and started with it. */
        riders: list(z.object({ id, name })),
        /** TCP ports that services without a health check listened on. */
        ports: list(z.object({ service: name, ports: list(z.number()) })),
        /** Restart policies as they were before the rollback changed them. */
        policies: list(z.object({ id, policy: like(/^[a-z-]+(?::\d+)?$/) })),
      }),
    ),
  ),
  /** Files that were not restored, because they were edited during the update. */
  leftAlone: z.exactOptional(leftAloneSchema),
});

/** The state to restore, and how far the run has come (docs/contract.md 5.3). Plain JSON. */
export interface JournalData extends z.infer<typeof journalSchema> {}

/** A container as it was before the run, in plain data. */
export interface ContainerRecord extends z.infer<typeof container> {}

/** A service whose containers the run replaces. */
export interface MovedService extends z.infer<typeof movedService> {}

/**
 * All data that `recreate`, `verify` and a rollback need. A run that resumes after a kill reads it from the journal and
 * follows the same steps.
 */
export interface Changeover extends z.infer<typeof changeover> {}
