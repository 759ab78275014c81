import { isAbsolute } from 'node:path';
import { parseReference } from '../../compose/reference.ts';
import { outcomes } from '../../progress/outcome.ts';
import { runForm } from './kept-runs.ts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const number: Check = (value) => typeof value === 'number';
const like =
  (form: RegExp): Check =>
  (value) =>
    typeof value === 'string' && form.test(value);
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const either =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const orNull = (check: Check): Check => either(oneOf(null), check);
/** Not there, as in journals from before it was kept. */
const later = (check: Check): Check => either(oneOf(undefined), check);
const list =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    object(value) &&
    Object.entries(fields).every(([key, check]) => check((value as Record<string, unknown>)[key]));

/** Of a project, a service, a container: an argument of a command, and so none of its options. */
const name = like(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/);
const id = like(/^[0-9a-f]*$/);
const imageId = like(/^(?:sha256:)?[0-9a-f]+$/);
const reference = either(imageId, (value) => typeof value === 'string' && parseReference(value) !== null);
const path: Check = (value) => typeof value === 'string' && isAbsolute(value) && !value.includes('\0');

const project = shape({
  name,
  directory: path,
  files: list(path),
  envFiles: list(path),
  profiles: later(list(like(/^[^-]/))),
  oldNames: later(list(name)),
  asksForNames: later(flag),
  upOnly: later(list(name)),
});

const file = shape({
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
  imageId,
  imageManifest: later(imageId),
  reference,
  startedAt: text,
  runs: flag,
  down: flag,
  well: flag,
});

const changeover = shape({
  moved: list(
    shape({
      name,
      isApp: flag,
      follows: flag,
      image: orNull(shape({ reference, id: imageId, manifests: later(list(imageId)) })),
      awaits: list(name),
      hasStartHook: later(flag),
      runsOnce: later(flag),
    }),
  ),
  containers: list(container),
  words: shape({
    from: text,
    goal: text,
    reached: text,
    runs: text,
    warnings: list(text),
    alsoMoved: list(name),
    newServices: list(name),
    changedServices: later(list(name)),
    restartedByHand: later(list(name)),
    runByHand: later(list(name)),
  }),
});

const blueprint = shape({
  id,
  name,
  imageId,
  imageManifest: later(orNull(imageId)),
  imageReference: reference,
  platform: orNull(text),
  config: object,
  hostConfig: object,
  networks: (value) => object(value) && Object.values(value as object).every(object),
  published: later(list(text)),
  copied: list(shape({ path, content: text })),
  lost: list(text),
});

const ending = shape({ outcome: oneOf(...outcomes), exitCode: number, message: text });

/** Whether a value is a journal of format 1 (docs/design.md), and nothing in it can be taken for an option or a path out. */
export const isJournal: Check = shape({
  format: oneOf(1),
  run: like(runForm),
  containerId: id,
  attempt: number,
  project,
  target: orNull(text),
  services: list(name),
  from: text,
  phase: oneOf('pull', 'write', 'recreate', 'verify', 'done'),
  tags: list(shape({ reference, imageId })),
  files: list(file),
  containers: list(container),
  changeover: orNull(changeover),
  blueprints: list(blueprint),
  started: flag,
  goingBack: orNull(shape({ ending: orNull(ending) })),
  leftAlone: later(shape({ paths: list(text), next: orNull(list(text)) })),
  outcome: orNull(ending),
});
