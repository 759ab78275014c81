import { settingsName, stateName } from '../../progress/state-name.ts';
import { parseTarget, targetForms } from '../../release/target.ts';

/** An option, written down once: what it takes, where else it may be said, and what `--help` says of it. */
interface OptionRow {
  /** What stands behind it in the help; without one it is a switch, which an environment variable of 1 turns on. */
  value?: string;
  /** It may be given several times. */
  isList?: boolean;
  /** No environment variable says it, though one says what another command calls so. */
  isTyped?: boolean;
  /** A settings file may say it, too, as it is the instance's own and not of one run. */
  inFile?: boolean;
  /** What every value has to be, with the words for it. */
  form?: readonly [form: { test(text: string): boolean }, shouldBe: string];
  /** In its lines; `[]` stands for the environment variable, and `{…}` for what the product has. */
  help: string;
}

/** What a run waits where nobody says how long. */
export const usualSeconds = { wait: 300, pull: 3600 };

const release = {
  value: 'RELEASE',
  form: [{ test: (text: string) => parseTarget(text) !== null }, targetForms],
} as const;
const service = {
  value: 'NAME',
  isList: true,
  inFile: true,
  form: [/^[A-Za-z0-9._][A-Za-z0-9._-]*$/, "a service's name"],
} as const;
const seconds = {
  value: 'SECONDS',
  inFile: true,
  form: [/^[1-9]\d{0,5}$/, 'a whole number of seconds, from 1 to 999999'],
} as const;
const proven = (form: RegExp, name: string) =>
  ({ value: `${name}=sha256:…`, isList: true, form: [form, `${name}=sha256: and 64 hex digits`] }) as const;
const switchForm = [/^[01]$/, '1, or 0 for off'] as const;
const log = { value: 'line|json', form: [/^(line|json)$/, 'line or json'] } as const;

export const updateTable = {
  target: {
    ...release,
    help: `what to move to, as the product writes it: v1.2.3, 2025.8.4, 32.0.1-apache, 2025.8, canary, or a
tag that floats, such as stable, by its name []; without it floating tags
are pulled again`,
  },
  project: {
    value: 'NAME',
    form: [/^[a-z0-9][a-z0-9_-]*$/, 'a compose project name'],
    help: 'compose project []',
  },
  dir: { value: 'DIR', form: [/^\//, 'an absolute path'], help: 'the compose directory as mounted []' },
  stack: {
    value: 'NAME',
    form: [/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'the name of a stack'],
    help: 'the Swarm stack []; without it the one with an app, where no compose project is mounted',
  },
  file: {
    value: 'FILE',
    isList: true,
    inFile: true,
    help: `repeatable; the stack's files, as docker stack deploy -c gets them, from DIR on
[] (what compose itself would find)`,
  },
  'stop-first': {
    inFile: true,
    form: switchForm,
    help: 'of a stack: no old app beside a new one []',
  },
  container: {
    value: 'ID',
    form: [/^[0-9a-f]{64}$/, "a container's whole id, 64 hex digits"],
    help: `of one of its containers, whose labels alone are believed []; without it
all containers of a service must agree`,
  },
  service: {
    ...service,
    help: `repeatable; the first is the app, the others are workers []
({services})`,
  },
  exclude: {
    ...service,
    form: [/^(?:[A-Za-z0-9._][A-Za-z0-9._-]*|\*)$/, "a service's name, or *"],
    help: 'repeatable; what belongs with the app and stays behind, * for all []',
  },
  'version-var': {
    value: 'NAME',
    inFile: true,
    form: [/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable'],
    help: 'the version variable [] ({versionVariable})',
  },
  'wait-timeout': { ...seconds, help: `for the new version to become healthy [] (${usualSeconds.wait})` },
  'pull-timeout': { ...seconds, help: `for all pulls together [] (${usualSeconds.pull})` },
  'accept-drift': {
    form: switchForm,
    help: 'go on where the files no longer say what the containers have []',
  },
  'restore-point': {
    inFile: true,
    form: switchForm,
    help: 'save the data first, and restore it if the update fails []',
  },
  'restore-dir': {
    value: 'DIR',
    form: [/^\//, 'an absolute path'],
    help: `directory for restore points, as mounted [] (${stateName}/restore)`,
  },
  'no-rollback': { form: switchForm, help: 'after a failed update, do not roll back version and data []' },
  expect: {
    ...proven(/^[\w./:-]+=sha256:[0-9a-f]{64}$/, 'NAME'),
    help: 'repeatable; what the image of a service or repository has to be, any of these []',
  },
  'expect-file': {
    ...proven(/^[\w.-]+=sha256:[0-9a-f]{64}$/, 'FILE'),
    help: 'repeatable; what a file that the release ships has to be []',
  },
  release: {
    value: 'DIR',
    form: [/^\//, 'an absolute path'],
    help: 'with release.json and its bundle, as mounted: nothing else is updated to []',
  },
  archive: {
    value: 'FILE',
    form: [/^\//, 'an absolute path'],
    help: 'a release in one file, as mounted: no registry is asked for its images []',
  },
  trust: {
    value: 'FILE',
    form: [/^\//, 'an absolute path'],
    help: 'who may have signed either, as mounted []',
  },
  log: { ...log, help: '[] (line)' },
} satisfies Record<string, OptionRow>;

const {
  target,
  stack,
  file,
  'stop-first': stopFirst,
  container,
  'accept-drift': drift,
  'restore-point': point,
  'restore-dir': pointDir,
  'no-rollback': noRollback,
  expect,
  'expect-file': expectFile,
  release: releaseDir,
  archive: _archive,
  trust,
  ...ofInstance
} = updateTable;
const ofProof = { expect, 'expect-file': expectFile, release: releaseDir, trust };
const { 'pull-timeout': pull, ...ofWayBack } = ofInstance;
const { project, dir } = ofInstance;

export const rollbackTable = {
  yes: { help: 'roll back; without it, only print what would be replaced' },
  'discard-current': { help: 'do not save the current data first' },
} satisfies Record<string, OptionRow>;

export const bumpTable = {
  to: { ...release, help: 'what to move pins to, written as above' },
  service: { ...service, help: `once or more: whose pins (services of ${settingsName})` },
  dir: { value: 'DIR', help: 'the compose directory (that of the first --file, else the working directory)' },
  file: {
    value: 'FILE',
    isList: true,
    isTyped: true,
    inFile: true,
    help: 'repeatable; compose files, from DIR on (what compose itself would find)',
  },
  'env-file': { value: 'FILE', isList: true, help: 'repeatable (.env)' },
  digest: {
    value: 'sha256:…',
    form: [/^sha256:[0-9a-f]{64}$/, 'sha256: and 64 hex digits'],
    help: 'of the new release, where a pin has a digest beside the tag',
  },
  'dry-run': { help: 'print a diff, write nothing' },
  log: { ...log, help: 'as above' },
} satisfies Record<string, OptionRow>;

export type OptionTable = Readonly<Record<string, OptionRow>>;

/** The options of each command. */
export const optionsOf = {
  update: updateTable,
  plan: updateTable,
  // No data are looked at: without the lock that would end what an update has a database do.
  fetch: { ...ofInstance, ...ofProof, target, container, 'accept-drift': drift },
  rollback: { ...ofWayBack, container, 'restore-dir': pointDir, ...rollbackTable },
  'restore-point': { project, dir, container, 'restore-dir': pointDir, log: ofInstance.log },
  bump: bumpTable,
} satisfies Record<string, OptionTable>;

/** What an option is called in a settings file: `services` for `--service`. */
export const keyOf = (name: string): string => (name === 'service' || name === 'file' ? `${name}s` : name);

/** The environment variable of an option; those of `rollback` and `bump` alone have none. */
export const variableOf = (name: string): string | null =>
  name in updateTable ? `SVC_UPDATER_${keyOf(name).toUpperCase().replaceAll('-', '_')}` : null;

/** How a setting is written; `pairs` are a service and a word each. */
export type SettingForm = 'value' | 'list' | 'switch' | 'pairs';

/** What a settings file may say, by its keys: options, and what a restore point keeps. */
export const settings: ReadonlyMap<string, { name: string; form: SettingForm }> = new Map<
  string,
  { name: string; form: SettingForm }
>([
  ...Object.entries<OptionRow>({ ...updateTable, ...bumpTable }).flatMap(([name, row]) => {
    const form: SettingForm = row.isList ? 'list' : row.value === undefined ? 'switch' : 'value';
    return row.inFile ? [[keyOf(name), { name, form }] as const] : [];
  }),
  ['data', { name: 'data', form: 'pairs' }],
]);
