import { type DataKeyword, isDataKeyword } from '../../../core/names/product.ts';
import { parseTarget, type Target } from '../../../core/release/target.ts';
import type { LogFormat } from '../log/run-log.ts';
import type { CommandLine } from './command-line.ts';
import { optionsByCommand, usualSeconds } from './option-table.ts';

export type UpdateOptions = ReturnType<typeof updateOptionsOf>;
export type DataOptions = UpdateOptions['data'];
export type ProofOptions = UpdateOptions['proof'];

/**
 * Builds the options of all commands that run on an instance. Options that a command does not have get their defaults.
 */
export function updateOptionsOf({ command, product, values }: CommandLine) {
  const { all, one, isOn } = readerOf(values);
  /**
   * Whether the operator listed the services: if so, a missing service is an error; a missing default worker is not.
   */
  const servicesNamed = values.has('service');
  // The first service is the app, and all others are workers.
  const [app = 'app', ...others] = servicesNamed ? all('service') : product.services;
  const workers: readonly string[] = others;
  return {
    product,
    target: parseTarget(one('target') ?? ''),
    project: one('project'),
    /** Compose directory, as a path inside the container. */
    dir: one('dir'),
    /** Id of the only container whose labels are trusted. Null if the labels of all containers must agree. */
    container: one('container'),
    app,
    workers,
    servicesNamed,
    /** Services of the app that are not updated; `*` for all. */
    exclude: all('exclude'),
    versionVariable: one('version-var') ?? product.versionVariable,
    acceptDrift: isOn('accept-drift'),
    acceptOwnBuild: isOn('accept-own-build'),
    acceptRecalled: isOn('accept-recalled'),
    removeOldImages: isOn('remove-old-images'),
    /** Whether the rollback after a failed update is disabled. */
    noRollback: isOn('no-rollback'),
    /** Addresses to which the updater sends notifications about a run. */
    notify: command === 'update' || isOn('yes') ? all('notify') : [],
    limits: {
      waitTimeoutMs: 1000 * Number(one('wait-timeout') ?? usualSeconds.wait),
      pullTimeoutMs: 1000 * Number(one('pull-timeout') ?? usualSeconds.pull),
    },
    data: {
      /** Whether the data is saved before the new version starts. */
      restorePoint: isOn('restore-point'),
      /** Directory for restore points, as a path inside the container; null for the state directory. */
      restoreDir: one('restore-dir'),
      /** Maximum downtime of the app while the data is saved; null for no limit. */
      maxDowntimeSeconds: one('max-downtime') === null ? null : Number(one('max-downtime')),
      said: dataOf(values),
    },
    proof: {
      /** Expected digests of images as `NAME=sha256:…`. If a name has several digests, each of them is accepted. */
      expect: all('expect'),
      expectFiles: all('expect-file'),
      /** Directory with a `release.json`, as a path inside the container. */
      release: one('release'),
      /** Release archive that contains the images, as a path inside the container. */
      archive: one('archive'),
      /** File that lists who may sign releases and channel files, as a path inside the container. */
      trust: one('trust'),
      /** Channel file, which lists recalled releases, as a path inside the container. */
      channelFile: one('channel-file'),
    },
    /**
     * Values of new settings, by name. An undefined value is prompted for on the terminal. Null if the command has no
     * `--set`.
     */
    settings: 'set' in optionsByCommand[command] ? new Map(all('set').map(splitNameAndValue)) : null,
    /** Options for a Swarm stack, which the updater can update instead of a compose project. */
    stack: {
      name: one('stack'),
      /** Stack files in the order of `docker stack deploy -c`. */
      files: all('file'),
      /** Whether all old app tasks are stopped before the first new task starts. */
      stopFirst: isOn('stop-first'),
    },
  };
}

/** Options that are required to plan a release. */
export type ReleaseRequest = Pick<UpdateOptions, 'target'>;

/** Returns the options that a journal stores, so that a later run can check whether it has the same options. */
export const requestOf = ({ target, app, workers }: UpdateOptions) => ({
  target: target?.tag ?? null,
  services: [app, ...workers],
});

/**
 * Checks whether a stored run has the target and services of the options.
 * @param stored a journal; or the record of a stack, which lists no services
 */
export function isSameRequest(
  stored: { target: string | null; services?: readonly string[] },
  options: UpdateOptions,
): boolean {
  const { target, services } = requestOf(options);
  return stored.target === target && (stored.services ?? services).join() === services.join();
}

/** Splits `NAME=VALUE` or `NAME`. */
export const splitNameAndValue = (text: string) => text.split(/=(.*)/s, 2) as [string, string | undefined];

/**
 * The operator's choice whether a restore point contains certain data: of a service, of a mount (`app:/library`) or of
 * a database host outside the project.
 */
export interface DataChoice {
  key: string;
  word: DataKeyword;
  where: string;
}

const dataOf = (values: CommandLine['values']): readonly DataChoice[] =>
  (values.get('data') ?? []).flatMap(({ value: word, where, key = '' }) =>
    isDataKeyword(word) ? [{ key, word, where }] : [],
  );

export function rollbackOptionsOf({ values }: CommandLine) {
  const { isOn } = readerOf(values);
  return {
    /** Whether the rollback is carried out; false for a dry run. */
    yes: isOn('yes'),
    /** Whether the current data is discarded without being saved before the rollback. */
    discardCurrent: isOn('discard-current'),
  };
}

export type BumpOptions = ReturnType<typeof bumpOptionsOf>;

export function bumpOptionsOf({ values }: CommandLine) {
  const { all, one, isOn } = readerOf(values);
  return {
    /** Compose directory. Null for the directory of the first file; without files, for the working directory. */
    dir: one('dir'),
    files: all('file'),
    envFiles: all('env-file'),
    to: parseTarget(one('to') ?? '') as Target,
    services: all('service'),
    digest: one('digest'),
    dryRun: isOn('dry-run'),
  };
}

export const logFormatOf = ({ values }: CommandLine): LogFormat =>
  readerOf(values).one('log') === 'json' ? 'json' : 'line';

function readerOf(values: CommandLine['values']) {
  const all = (name: string): readonly string[] => (values.get(name) ?? []).map(({ value }) => value);
  const one = (name: string): string | null => all(name)[0] ?? null;
  return { all, one, isOn: (name: string): boolean => one(name) === '1' };
}
