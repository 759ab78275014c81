import { basename, isAbsolute } from 'node:path';
import { parseReference } from '../../../core/compose/reference.ts';
import type { FileRecord } from '../../../core/files/replace-files.ts';
import { outcomes } from '../../../core/progress/outcome.ts';
import type { Blueprint } from '../../../engine/api/blueprint.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import type { Ending } from '../log/ending.ts';
import type { LeftAlone } from '../log/ending-facts.ts';
import { runForm } from './kept-runs.ts';

// A journal's fields: what they are, and what of them is taken for one. The types come from the checks; of what another
// room has the type of, every field has to be checked for this to compile.

type Check<T = unknown> = (value: unknown) => value is T;
/** Of a field that need not be there: journals of earlier versions have fewer. */
type Optional<T> = Check<T | undefined> & { readonly isOptional: true };
type TypeOf<C> = C extends Optional<infer T> ? T : C extends Check<infer T> ? T : never;
type Fields = Readonly<Record<string, Check>>;
type Shape<F extends Fields> = {
  [K in keyof F as F[K] extends Optional<unknown> ? never : K]: TypeOf<F[K]>;
} & {
  [K in keyof F as F[K] extends Optional<unknown> ? K : never]?: TypeOf<F[K]>;
};

const check = <T>(accepts: (value: unknown) => boolean): Check<T> => accepts as Check<T>;
const text = check<string>((value) => typeof value === 'string');
const flag = check<boolean>((value) => typeof value === 'boolean');
const number = check<number>((value) => typeof value === 'number');
const textWhere = (fits: (value: string) => boolean) =>
  check<string>((value) => typeof value === 'string' && fits(value));
const like = (form: RegExp) => textWhere((value) => form.test(value));
const oneOf = <const T>(...values: readonly T[]) => check<T>((value) => values.includes(value as T));
const orNull = <T>(inner: Check<T>) => check<T | null>((value) => value === null || inner(value));
const optional = <T>(inner: Check<T>) =>
  check<T | undefined>((value) => value === undefined || inner(value)) as Optional<T>;
const list = <T>(inner: Check<T>) =>
  check<readonly T[]>((value) => Array.isArray(value) && value.every(inner));
const object = check<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const has = (value: unknown, fields: Fields): boolean =>
  object(value) && Object.entries(fields).every(([key, inner]) => inner(value[key]));
const shape = <F extends Fields>(fields: F) => check<Shape<F>>((value) => has(value, fields));
const shapeOf = <T>(fields: { [K in keyof Required<T>]: Check }) =>
  check<T>((value) => has(value, fields as Fields));

/** Of a project, a service, a container: an argument of a command, and so none of its options. */
const name = like(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/);
const id = like(/^[0-9a-f]*$/);
const imageId = like(/^(?:sha256:)?[0-9a-f]+$/);
const reference = textWhere((value) => imageId(value) || parseReference(value) !== null);
const path = textWhere((value) => isAbsolute(value) && !value.includes('\0'));

const pointPath = textWhere((value) => path(value) && /(?:^|-)\d{8}T\d{6}Z$/.test(basename(value)));

const project = shapeOf<ComposeProject>({
  name,
  directory: path,
  files: list(path),
  envFiles: list(path),
  profiles: optional(list(like(/^[^-]/))),
  oldNames: optional(list(name)),
  asksForNames: optional(flag),
});

const file = shapeOf<FileRecord>({
  path,
  real: path,
  before: orNull(id),
  after: id,
  backup: orNull(path),
  owner: orNull(object),
  temporary: path,
});

const container = shape({
  id,
  name,
  service: name,
  number,
  /** The local image's id. */
  imageId,
  /** The digest of its manifest, where the engine tells. */
  imageManifest: optional(imageId),
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
  failing: optional(text),
});

const movedService = shape({
  name,
  isApp: flag,
  /** It only lives in a namespace of one that moves. */
  follows: flag,
  /** What it runs afterwards; null for a follower that keeps its image. */
  image: orNull(shape({ reference, id: imageId, manifests: optional(list(imageId)) })),
  /** Services that must be healthy before it starts. */
  awaits: list(name),
  /** `up` runs commands of the new image before the first container starts. */
  hasStartHook: optional(flag),
  /** Run to its end before those that come after it in the list. */
  runsOnce: optional(flag),
});

const changeover = shape({
  /** The app first but for what runs once before it, followers last. */
  moved: list(movedService),
  /** Every container of the project before, compose's leftovers left out. */
  containers: list(container),
  /** What the log says about it. */
  words: shape({
    /** `v1.4.2` */
    from: text,
    /** `v1.5.0`: the name of the target, under the key that journals on people's disks have. */
    goal: text,
    /** The same, and beside a floating tag the version of its image. */
    reached: text,
    /** The version that each service runs, as a sentence. */
    runs: text,
    warnings: list(text),
    alsoMoved: list(name),
    newServices: list(name),
    changedServices: optional(list(name)),
    /** Left alone, although their `depends_on` says `restart: true`. */
    restartedByHand: optional(list(name)),
    /** Not run, although others wait for them to complete. */
    runByHand: optional(list(name)),
    /** Of containers before the update, with the reverse proxies that may have cached them. */
    addresses: optional(list(shape({ name, ips: list(text), proxies: list(name) }))),
  }),
});

const blueprint = shapeOf<Blueprint>({
  id,
  name,
  imageId,
  imageManifest: optional(orNull(imageId)),
  imageReference: reference,
  platform: orNull(text),
  config: object,
  hostConfig: object,
  networks: check((value) => object(value) && Object.values(value).every(object)),
  published: optional(list(text)),
  copied: list(shape({ path, content: text })),
  lost: list(text),
});

const ending = shapeOf<Ending>({
  outcome: oneOf(...outcomes),
  exitCode: number,
  message: text,
  fields: optional(object),
});

/** Whether a value is a journal of format 1 (docs/design.md), and nothing in it can be taken for an option or a path out. */
export const isJournal = shape({
  format: oneOf(1),
  /** `20261121T104207Z`; also the name of its backups. */
  run: like(runForm),
  /** The updater's container, and how often it has started for this run. */
  containerId: id,
  attempt: number,
  project,
  /** As asked for: `v1.5.0`, `canary`, or null. */
  target: orNull(text),
  services: list(name),
  /** `v1.4.2` */
  from: text,
  phase: oneOf('pull', 'save', 'write', 'recreate', 'verify', 'restore', 'done'),
  /** The image id behind each reference before the pull. */
  tags: list(shape({ reference, imageId })),
  files: list(file),
  /** Every container of the project before. */
  containers: list(container),
  /** From `recreate` on. */
  changeover: orNull(changeover),
  /** What it takes to make the moved containers again; holds the values of their environment. */
  blueprints: list(blueprint),
  /** A container of the new version has started, so only the restore point allows a rollback. */
  started: flag,
  /** A rollback is in progress, with the ending of the run afterwards; null if an update starts over after it. */
  goingBack: orNull(shape({ ending: orNull(ending) })),
  /** The restore point that the run makes, or rolls back to. */
  point: optional(
    orNull(
      shape({
        /** Its directory on the host. */
        directory: pointPath,
        /**
         * `copying` while all services are running,
         * `saving` after the first service has been stopped,
         * `restored` if the data equals the restore point.
         */
        state: oneOf('copying', 'saving', 'saved', 'restored'),
        /** Covered services that are not replaced, in the order in which they start. */
        services: list(name),
        /** Services that keep a queue or cache only in memory: restarted after a rollback. */
        inMemory: list(name),
        /** Containers that live in a namespace of a covered one: stopped and started with it. */
        riders: list(shape({ id, name })),
        /** TCP ports that services without a health check listened on. */
        ports: list(shape({ service: name, ports: list(number) })),
        /** Restart policies as they were before the rollback changed them. */
        policies: list(shape({ id, policy: like(/^[a-z-]+(?::\d+)?$/) })),
      }),
    ),
  ),
  /** Files that were not restored, because they were edited during the update. */
  leftAlone: optional(shapeOf<LeftAlone>({ paths: list(text), next: orNull(list(text)) })),
  outcome: orNull(ending),
});

/** The state to restore, and how far the run has come (docs/contract.md 5.3). Plain JSON. */
export type JournalData = TypeOf<typeof isJournal>;

/** A container as it was before the run, in plain data. */
export type ContainerRecord = TypeOf<typeof container>;

/** A service whose containers the run replaces. */
export type MovedService = TypeOf<typeof movedService>;

/**
 * All data that `recreate`, `verify` and a rollback need. A run that resumes after a kill reads it from the journal and
 * follows the same steps.
 */
export type Changeover = TypeOf<typeof changeover>;
