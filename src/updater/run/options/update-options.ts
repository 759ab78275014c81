import { type DataKeyword, isDataKeyword } from '../../../core/names/product.ts';
import { parseTarget, type Target } from '../../../core/release/target.ts';
import type { LogFormat } from '../log/run-log.ts';
import type { CommandLine } from './command-line.ts';
import { defaultPauseLimitSeconds, defaultUpdateTimeoutSeconds, optionsByCommand } from './option-table.ts';

export type UpdateOptions = ReturnType<typeof updateOptionsOf>;
export type DataOptions = UpdateOptions['data'];
export type ProofOptions = UpdateOptions['proof'];

/** Options of all commands on an instance. An option that the command lacks gets its default. */
export function updateOptionsOf({ command, product, values }: CommandLine) {
  const { all, one, isOn } = createValueReader(values);
  /** Whether the user listed the services. A missing listed service is an error; a missing default worker is not. */
  const servicesNamed = values.has('service');
  const [app = 'app', ...others] = servicesNamed ? all('service') : product.services;
  const workers: readonly string[] = others;
  return {
    product,
    target: parseTarget(one('target') ?? ''),
    project: one('project'),
    /** Path inside the container. */
    dir: one('dir'),
    /** Id of the only container whose labels are trusted. If null, the labels of all containers must agree. */
    container: one('container'),
    /** Whether the journal of an ended run can identify a project without containers. */
    acceptEndedJournal: command === 'restore-point',
    app,
    workers,
    servicesNamed,
    /** App services that are not updated; `*` for all. */
    exclude: all('exclude'),
    versionVariable: one('version-var') ?? product.versionVariable,
    acceptDrift: isOn('accept-drift'),
    acceptOwnBuild: isOn('accept-own-build'),
    acceptRecalled: isOn('accept-recalled'),
    removeOldImages: isOn('remove-old-images'),
    noRollback: isOn('no-rollback'),
    /** Whether the update is first tried on a copy of the data. */
    rehearse: isOn('rehearse'),
    notify: command === 'update' || isOn('yes') ? all('notify') : [],
    limits: {
      waitTimeoutMs: 1000 * Number(one('wait-timeout') ?? defaultUpdateTimeoutSeconds.wait),
      pullTimeoutMs: 1000 * Number(one('pull-timeout') ?? defaultUpdateTimeoutSeconds.pull),
      pauseMs: 1000 * Number(one('pause-limit') ?? defaultPauseLimitSeconds),
    },
    data: {
      /** Whether data is saved before the new version starts. */
      restorePoint: isOn('restore-point'),
      /** Path inside the container; null for the state directory. */
      restoreDir: one('restore-dir'),
      /** Maximum downtime while the data is saved; null for no limit. */
      maxDowntimeSeconds: one('max-downtime') === null ? null : Number(one('max-downtime')),
      choices: dataChoicesOf(values),
    },
    proof: {
      /** `NAME=sha256:…`. If a name has several digests, each of them is accepted. */
      expect: all('expect'),
      expectFiles: all('expect-file'),
      /** Directory with a `release.json`, as a path inside the container. */
      release: one('release'),
      /** Path of the release archive inside the container. */
      archive: one('archive'),
      /** Path of the trust file inside the container. The file lists who may sign releases and channel files. */
      trust: one('trust'),
      /** Path of the channel file inside the container. The file lists recalled releases. */
      channelFile: one('channel-file'),
    },
    /**
     * Values of new settings, keyed by name. The user is asked for undefined values. Null if the command has no
     * `--set`.
     */
    settings: 'set' in optionsByCommand[command] ? new Map(all('set').map(splitNameAndValue)) : null,
    /** Set to update a Swarm stack instead of a compose project. */
    stack: {
      name: one('stack'),
      /** Stack files, in the order of the `-c` options of `docker stack deploy`. */
      files: all('file'),
      /** Whether all old app tasks are stopped before the first new task starts. */
      stopFirst: isOn('stop-first'),
    },
  };
}

export type TargetOption = Pick<UpdateOptions, 'target'>;

/** Options stored in a journal. A later run compares them with its own options. */
export const storedRequestOf = ({ target, app, workers }: UpdateOptions) => ({
  target: target?.tag ?? null,
  services: [app, ...workers],
});

/** @param stored - a journal, or the record of a stack, which lists no services */
export function isSameRequest(
  stored: { target: string | null; services?: readonly string[] },
  options: UpdateOptions,
): boolean {
  const { target, services } = storedRequestOf(options);
  return stored.target === target && (stored.services ?? services).join() === services.join();
}

/** `NAME` alone has no value. */
export const splitNameAndValue = (text: string) => text.split(/=(.*)/s, 2) as [string, string | undefined];

/** Whether a restore point saves the data of a service, of a mount (`app:/library`) or of an external database host. */
export interface DataOption {
  key: string;
  word: DataKeyword;
  where: string;
}

const dataChoicesOf = (values: CommandLine['values']): readonly DataOption[] =>
  (values.get('data') ?? []).flatMap(({ value: word, where, key = '' }) =>
    isDataKeyword(word) ? [{ key, word, where }] : [],
  );

export function rollbackOptionsOf({ values }: CommandLine) {
  const { isOn } = createValueReader(values);
  return {
    /** False for a dry run. */
    yes: isOn('yes'),
    /** Whether the rollback discards the current data without saving it. */
    discardCurrent: isOn('discard-current'),
  };
}

export type BumpOptions = ReturnType<typeof bumpOptionsOf>;

export function bumpOptionsOf({ values }: CommandLine) {
  const { all, one, isOn } = createValueReader(values);
  return {
    ...projectPathsOf(values),
    to: parseTarget(one('to') ?? '') as Target,
    services: all('service'),
    digest: one('digest'),
    dryRun: isOn('dry-run'),
  };
}

export function enableOptionsOf({ values }: CommandLine) {
  const { one, isOn } = createValueReader(values);
  return {
    /** Hash of the dry run; null for a dry run. */
    yes: one('yes'),
    undo: isOn('undo'),
    /** Tag of the running version; null if the containers show it. */
    to: one('to'),
    ...projectPathsOf(values),
  };
}

export type ProjectPaths = ReturnType<typeof projectPathsOf>;

function projectPathsOf(values: CommandLine['values']) {
  const { all, one } = createValueReader(values);
  return {
    /**
     * Compose directory. Null stands for the first file's directory or, if no files are given, the working directory.
     */
    dir: one('dir'),
    files: all('file'),
    envFiles: all('env-file'),
  };
}

export const logFormatOf = ({ values }: CommandLine): LogFormat =>
  createValueReader(values).one('log') === 'json' ? 'json' : 'line';

function createValueReader(values: CommandLine['values']) {
  const all = (name: string): readonly string[] => (values.get(name) ?? []).map(({ value }) => value);
  const one = (name: string): string | null => all(name)[0] ?? null;
  return { all, one, isOn: (name: string): boolean => one(name) === '1' };
}
