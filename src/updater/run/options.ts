import { type DataWord, isDataWord } from '../../core/progress/product.ts';
import { parseTarget, type Target } from '../../core/release/target.ts';
import type { CommandLine } from './command-line.ts';
import type { LogFormat } from './log/log.ts';
import { optionsOf, usualSeconds } from './option-table.ts';

export type UpdateOptions = ReturnType<typeof updateOptionsOf>;
export type DataOptions = UpdateOptions['data'];
export type ProofOptions = UpdateOptions['proof'];

/** The options of all commands that run on an instance. Options that a command does not have are at their defaults. */
export function updateOptionsOf({ command, product, values }: CommandLine) {
  const { all, one, isOn } = readerOf(values);
  /** The operator listed the services, so a missing one is an error. A missing default worker is not. */
  const servicesNamed = values.has('service');
  // The first is the app, the others are workers.
  const [app = 'app', ...others] = servicesNamed ? all('service') : product.services;
  const workers: readonly string[] = others;
  return {
    product,
    target: parseTarget(one('target') ?? ''),
    project: one('project'),
    /** The compose directory, as a path inside the container. */
    dir: one('dir'),
    /** The id of the only container whose labels are trusted. Null: the labels of all containers must agree. */
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
    /** After a failed update, nothing is rolled back. */
    noRollback: isOn('no-rollback'),
    /** The addresses that are notified of a run. */
    notify: command === 'update' || isOn('yes') ? all('notify') : [],
    limits: {
      waitTimeoutMs: 1000 * Number(one('wait-timeout') ?? usualSeconds.wait),
      pullTimeoutMs: 1000 * Number(one('pull-timeout') ?? usualSeconds.pull),
    },
    data: {
      /** The data is saved before the new version starts. */
      restorePoint: isOn('restore-point'),
      /** The directory for restore points, as a path inside the container. Null: the state directory. */
      restoreDir: one('restore-dir'),
      /** How long the app may be unavailable while the data is saved; null for no limit. */
      maxDowntimeSeconds: one('max-downtime') === null ? null : Number(one('max-downtime')),
      said: dataOf(values),
    },
    proof: {
      /** `NAME=sha256:…` of images and of files of a release. If a name has several digests, each is accepted. */
      expect: all('expect'),
      expectFiles: all('expect-file'),
      /** A directory with `release.json`, as a path inside the container. */
      release: one('release'),
      /** The release archive that contains the images, as a path inside the container. */
      archive: one('archive'),
      /** The file that lists who may sign releases and channel files, as a path inside the container. */
      trust: one('trust'),
      /** The channel file, which lists recalled releases, as a path inside the container. */
      channelFile: one('channel-file'),
    },
    /** Values for new settings, by name; undefined: read from the terminal. Null for a command that sets none. */
    settings: 'set' in optionsOf[command] ? new Map(all('set').map(nameAndValue)) : null,
    /** A Swarm stack instead of a compose project. */
    stack: {
      name: one('stack'),
      /** In the order of `docker stack deploy -c`. */
      files: all('file'),
      /** All old app tasks are stopped before the first new one starts. */
      stopFirst: isOn('stop-first'),
    },
  };
}

/** What a plan needs of the options. */
export type ReleaseRequest = Pick<UpdateOptions, 'target'>;

/** What a journal stores of the options, so that a later run can tell whether it has the same request. */
export const requestOf = ({ target, app, workers }: UpdateOptions) => ({
  target: target?.tag ?? null,
  services: [app, ...workers],
});

/** @param stored a journal, or the record of a stack, which has no services */
export function isSameRequest(
  stored: { target: string | null; services?: readonly string[] },
  options: UpdateOptions,
): boolean {
  const { target, services } = requestOf(options);
  return stored.target === target && (stored.services ?? services).join() === services.join();
}

/** Of `NAME=VALUE` or `NAME`. */
export const nameAndValue = (text: string) => text.split(/=(.*)/s, 2) as [string, string | undefined];

/** Whether a restore point contains the data of a service, of a mount (`app:/library`) or of a database host outside the project. */
export interface DataSaid {
  key: string;
  word: DataWord;
  where: string;
}

const dataOf = (values: CommandLine['values']): readonly DataSaid[] =>
  (values.get('data') ?? []).flatMap(({ value: word, where, key = '' }) =>
    isDataWord(word) ? [{ key, word, where }] : [],
  );

export function rollbackOptionsOf({ values }: CommandLine) {
  const { isOn } = readerOf(values);
  return {
    /** False for a dry run. */
    yes: isOn('yes'),
    /** The current data is not saved first. */
    discardCurrent: isOn('discard-current'),
  };
}

export type BumpOptions = ReturnType<typeof bumpOptionsOf>;

export function bumpOptionsOf({ values }: CommandLine) {
  const { all, one, isOn } = readerOf(values);
  return {
    /** Null: the directory of the first file, or the working directory. */
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
