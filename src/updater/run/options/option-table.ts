import type { OptionRow, OptionTable } from '../../../core/command-line/option-row.ts';
import { isDataKeyword } from '../../../core/names/product.ts';
import { settingsFileName, stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import { parseTarget, targetDescription } from '../../../core/release/target.ts';
import { notificationAddressDescription, parseNotificationAddress } from '../../../notify/address.ts';

/** A switch is turned on by its option, or by setting its environment variable to 1. */
interface UpdaterOption extends OptionRow {
  /**
   * Whether this command reads the option only from the command line. Other commands also read an environment variable.
   */
  isTyped?: boolean;
  /** Whether settings files may set the option, because the option describes the instance and not a run. */
  inFile?: boolean;
}

/** Default of `--pause-limit`. */
export const defaultPauseLimitSeconds = 30;

export const defaultUpdateTimeoutSeconds = { wait: 300, pull: 3600 };

const release = {
  value: 'RELEASE',
  form: [{ test: (text: string) => parseTarget(text) !== null }, targetDescription],
} as const;
const service = {
  value: 'NAME',
  isList: true,
  inFile: true,
  form: [/^[A-Za-z0-9._][A-Za-z0-9._-]*$/, 'the name of a service'],
} as const;
const seconds = {
  value: 'SECONDS',
  inFile: true,
  form: [/^[1-9]\d{0,5}$/, 'a whole number of seconds from 1 to 999999'],
} as const;
const createDigestOption = (form: RegExp, name: string) =>
  ({
    value: `${name}=sha256:…`,
    isList: true,
    form: [form, `${name}=sha256:<64 hex digits>`],
  }) as const;
const absolute = [/^\//, 'an absolute path'] as const;
const directory = { value: 'DIR', form: absolute } as const;
const absoluteFile = { value: 'FILE', form: absolute } as const;
const log = { value: 'line|json', choices: ['line', 'json'] } as const;

export const updateOptionTable = {
  target: {
    ...release,
    help: `Release to install, e.g. v1.2.3, 2025.8.4 or 32.0.1-apache; or canary; or a
floating tag, e.g. stable []
(default: pull floating tags again)`,
  },
  project: {
    value: 'NAME',
    form: [/^[a-z0-9][a-z0-9_-]*$/, 'the name of a compose project'],
    help: 'Compose project []',
  },
  dir: {
    ...directory,
    help: 'Compose directory (path inside the container) []',
  },
  stack: {
    value: 'NAME',
    form: [/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'the name of a stack'],
    help: `Swarm stack to update []
(default: the stack that contains the app, if no compose project is mounted)`,
  },
  file: {
    value: 'FILE',
    isList: true,
    inFile: true,
    help: `Swarm only: stack file as passed to docker stack deploy -c, relative to the
compose directory, repeatable []
(default: the files that docker compose finds)`,
  },
  'stop-first': {
    inFile: true,
    help: 'Swarm only: stop all old app tasks before starting new ones []',
  },
  container: {
    value: 'ID',
    form: [/^[0-9a-f]{64}$/, 'the full id of a container (64 hex digits)'],
    help: `Full id of a container of the instance; only its labels are trusted []
(default: the labels of all containers of a service must agree)`,
  },
  service: {
    ...service,
    help: `Service to update, repeatable; the first is the app, the others are workers []
(default: {services})`,
  },
  exclude: {
    ...service,
    form: [/^(?:[A-Za-z0-9._][A-Za-z0-9._-]*|\*)$/, 'the name of a service, or *'],
    help: `App service to exclude from the update, repeatable []
(* excludes every app service that is not selected for the update)`,
  },
  'version-var': {
    value: 'NAME',
    inFile: true,
    form: [/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable'],
    help: 'Variable that contains the version [] (default: {versionVariable})',
  },
  'wait-timeout': {
    ...seconds,
    help: `Time limit for the new version to become healthy [] (default: ${defaultUpdateTimeoutSeconds.wait})`,
  },
  'pull-timeout': {
    ...seconds,
    help: `Time limit for pulling images [] (default: ${defaultUpdateTimeoutSeconds.pull})`,
  },
  set: {
    value: 'NAME[=VALUE]',
    isList: true,
    isSecret: true,
    form: [/^[A-Za-z_]\w*(?:=.*)?$/s, 'NAME=VALUE or NAME'],
    help: `Value for a setting that is new in the release, repeatable; without =VALUE,
the value is read from the terminal`,
  },
  'set-file': {
    ...absoluteFile,
    help: `File with NAME=VALUE lines for new settings (path inside the container) []`,
  },
  'accept-drift': {
    help: 'Update even if containers differ from the compose files []',
  },
  'accept-own-build': {
    inFile: true,
    help: "Use the registry's image instead of one that was built from the compose file []",
  },
  'accept-recalled': {
    help: 'Install a release even if the channel file lists it as recalled []',
  },
  'restore-point': {
    inFile: true,
    help: 'Save the data before the update, and restore it if the update fails []',
  },
  'restore-dir': {
    ...directory,
    help: `Directory for restore points (path inside the container) []
(default: ${stateDirectoryName}/restore)`,
  },
  'max-downtime': {
    ...seconds,
    help: `Maximum downtime while the data is saved; if the second copy takes twice as
long, it is cancelled and the old version is started again [] (default: none)`,
  },
  rehearse: {
    inFile: true,
    help: 'First try the update on a copy of the data, and update only if this succeeds []',
  },
  'pause-limit': {
    value: 'SECONDS',
    inFile: true,
    form: [/^(?:[1-9]|[12]\d|30)$/, 'a whole number of seconds from 1 to 30'],
    help: `Maximum time for which a rehearsal suspends containers that write to the data []
(default: ${defaultPauseLimitSeconds})`,
  },
  'remove-old-images': {
    inFile: true,
    help: 'After the update, remove all unused local images of the services, whatever their tag []',
  },
  'no-rollback': { help: 'Do not roll back version and data after a failed update []' },
  expect: {
    ...createDigestOption(/^[\w./:-]+=sha256:[0-9a-f]{64}$/, 'NAME'),
    help: `Expected image digest for a service or a repository, repeatable;
one of the digests for the same NAME must match []`,
  },
  'expect-file': {
    ...createDigestOption(/^[\w.-]+=sha256:[0-9a-f]{64}$/, 'FILE'),
    help: 'Expected digest of a file in the release, repeatable []',
  },
  release: {
    ...directory,
    help: `Directory that contains a signed release.json (path inside the container);
no other release is installed []`,
  },
  archive: {
    ...absoluteFile,
    help: `Release archive to install instead of pulling from a registry (path
inside the container) []`,
  },
  trust: {
    ...absoluteFile,
    help: 'File that lists who may sign releases (path inside the container) []',
  },
  'channel-file': {
    ...absoluteFile,
    help: `Channel file of the publisher (path inside the container); the releases that
it lists as recalled are not installed. With --trust, it must be signed []`,
  },
  notify: {
    value: 'URL',
    isList: true,
    inFile: true,
    isSecret: true,
    form: [
      { test: (text: string) => text === 'none' || parseNotificationAddress(text) !== null },
      `${notificationAddressDescription}; or none`,
    ],
    help: `Address to notify of the start and the end of the run, repeatable []
(none: notify nothing, even if ${settingsFileName} contains addresses)`,
  },
  log: { ...log, help: 'Log format [] (default: line)' },
} satisfies Record<string, UpdaterOption>;

export const rollbackOptionTable = {
  yes: { help: 'Roll back; without this option, only print what would be restored' },
  'discard-current': { help: 'Do not save the current data before the rollback' },
} satisfies Record<string, UpdaterOption>;

export const bumpOptionTable = {
  to: { ...release, help: 'Release to pin the services to, in any form that --target accepts' },
  service: {
    ...service,
    help: `Service to pin to the new version, repeatable (default: the services in ${settingsFileName})`,
  },
  dir: {
    value: 'DIR',
    help: 'Compose directory (default: the directory of the first --file, or the working directory)',
  },
  file: {
    value: 'FILE',
    isList: true,
    isTyped: true,
    inFile: true,
    help: 'Compose file, relative to DIR, repeatable (default: the files that docker compose finds)',
  },
  'env-file': { value: 'FILE', isList: true, help: 'Environment file, repeatable (default: .env)' },
  digest: {
    value: 'sha256:…',
    form: [/^sha256:[0-9a-f]{64}$/, 'sha256:<64 hex digits>'],
    help: 'Digest of the new image, for a pin that contains both a tag and a digest',
  },
  'dry-run': { help: 'Print a diff instead of changing files' },
  log: { ...log, help: 'Log format (default: line)' },
} satisfies Record<string, UpdaterOption>;

export const enableOptionTable = {
  yes: {
    value: 'HASH',
    form: [/^[0-9a-f]{12}$/, 'the hash that the dry run printed'],
    help: 'Write the changes of the dry run with this hash; without this option, only print them',
  },
  undo: { help: 'Remove the lines that enable added; the version stays pinned' },
  to: { ...release, help: 'Running version. Reads only the files, so that no container has to run' },
  file: { ...bumpOptionTable.file, inFile: false, help: `With --to: ${bumpOptionTable.file.help}` },
  'env-file': { ...bumpOptionTable['env-file'], help: `With --to: ${bumpOptionTable['env-file'].help}` },
} satisfies Record<string, UpdaterOption>;

export type UpdaterOptionTable = OptionTable<UpdaterOption>;

const selectUpdateOptions = (...names: (keyof typeof updateOptionTable)[]): UpdaterOptionTable =>
  Object.fromEntries(names.map((name) => [name, updateOptionTable[name]]));

const ofServices = ['service', 'exclude', 'version-var', 'wait-timeout'] as const;

export const commandNames = [
  'update',
  'plan',
  'fetch',
  'rehearse',
  'rollback',
  'restore-point',
  'bump',
  'enable',
  'explain',
  'report',
  'serve',
] as const;

/** `help` and `version`, unlike the other commands, may be anywhere on a command line. */
export type UpdaterCommand = (typeof commandNames)[number] | 'help' | 'version';

/** Options of the commands that pull the images of an update without installing it. */
const pulling = [
  ...(['target', 'project', 'dir', 'container', ...ofServices, 'pull-timeout', 'accept-drift'] as const),
  ...(['accept-own-build', 'accept-recalled', 'expect', 'expect-file', 'release', 'trust'] as const),
  ...(['channel-file', 'log'] as const),
] as const;

export const optionsByCommand: Readonly<Record<UpdaterCommand, UpdaterOptionTable>> = {
  update: updateOptionTable,
  plan: updateOptionTable,
  // `fetch` has no data options: it takes no lock, so inspecting data could disturb a database during an update.
  fetch: selectUpdateOptions(...pulling),
  rehearse: selectUpdateOptions(...pulling, 'set', 'set-file', 'restore-dir', 'pause-limit'),
  rollback: {
    ...selectUpdateOptions('project', 'dir', 'container', ...ofServices, 'restore-dir', 'notify', 'log'),
    ...rollbackOptionTable,
  },
  'restore-point': selectUpdateOptions('project', 'dir', 'container', 'restore-dir', 'log'),
  bump: bumpOptionTable,
  enable: {
    ...selectUpdateOptions('project', 'dir', 'container', 'service', 'log'),
    ...enableOptionTable,
  },
  explain: {},
  // `report` has no data options, because inspecting data could disturb a database that an update is using.
  report: {
    ...selectUpdateOptions('target', 'project', 'dir', 'stack', 'file', 'container', ...ofServices, 'log'),
    base64: {
      help: `Write the archive to standard output as base64 lines, for a server that reads
the container log`,
    },
  },
  serve: {},
  help: {},
  version: {},
};

/** Form of the values of `data`, which only a settings file can set. */
export const dataKeywordForm = [{ test: isDataKeyword }, '"save" or "none"'] as const;

/** Key in a settings file: `services` for `--service`. */
export const settingsKeyOf = (name: string): string =>
  name === 'service' || name === 'file' ? `${name}s` : name;

/** Null for `--set`, and for options that only `rollback` or `bump` has. */
export const environmentVariableOf = (name: string): string | null =>
  name in updateOptionTable && name !== 'set'
    ? `SVC_UPDATER_${settingsKeyOf(name).toUpperCase().replaceAll('-', '_')}`
    : null;

/** `pairs` is a mapping of services to keywords. */
export type SettingForm = 'value' | 'list' | 'switch' | 'pairs';

/** All options that a settings file may set, and `data`, which selects the data in a restore point. */
export const settingsByKey = new Map<string, { name: string; form: SettingForm }>([
  ...Object.entries<UpdaterOption>({ ...updateOptionTable, ...bumpOptionTable }).flatMap(([name, row]) => {
    const form: SettingForm = row.isList ? 'list' : row.value === undefined ? 'switch' : 'value';
    return row.inFile ? [[settingsKeyOf(name), { name, form }] as const] : [];
  }),
  ['data', { name: 'data', form: 'pairs' }],
]);
