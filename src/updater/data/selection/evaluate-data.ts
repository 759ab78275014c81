// Decides which services a restore point covers, before any container is stopped.

import { type DataStoreKind, findDataStoreKind } from '../../../core/compose/pins/image-reference.ts';
import { isSecretKey } from '../../../core/compose/secrets/secret-lines.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isWithin, type Mount } from '../../../core/mounts/host-paths.ts';
import { dataLabelOf, isDataKeyword, type Product } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { normalizeContainerPath } from '../../../engine/containers/container-snapshot.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { DataOption } from '../../run/options/update-options.ts';
import type { DataCoverage } from '../data-context.ts';
import { isSavableMount, isSharedHostDirectory } from './choose-mounts.ts';
import { findExternalDatabases } from './find-external-databases.ts';

export interface DataSelectionFacts {
  model: ComposeModel;
  /** Containers of the project. Their mounts, not those in the compose files, determine which data is saved. */
  containers: readonly Container[];
  /** Services whose containers the run replaces. */
  updated: readonly string[];
  /** Data settings from the settings file. */
  dataSettings: readonly DataOption[];
  product: Product;
  /** Paths of the compose and env files, which are backed up separately. */
  files: readonly string[];
  /** Compose directory. */
  directory: string;
}

/** Service, mount or database host for which the settings file must still contain a setting. */
interface UndecidedData {
  /** Key to set in the settings file: the service, mount or host. */
  key: string;
  sentence: string;
  /**
   * Proposed setting. It is `none` if the data cannot be saved, or can be saved only together with other programs'
   * data.
   */
  proposal: 'save' | 'none';
}

export interface EvaluatedDataSettings extends DataCoverage {
  undecided: readonly UndecidedData[];
  /**
   * Line for the settings file, such as `data: {db: save}`. The line declares all undecided keys and repeats existing
   * entries.
   */
  line: string;
  /** Mistakes in the settings, one sentence each. */
  mistakes: readonly string[];
}

/** Decides which services a restore point covers. @throws UpdateError data-unsupported for mistakes, data-undeclared */
export function requireDataCoverage(facts: DataSelectionFacts): DataCoverage {
  const { undecided, mistakes, line, ...declared } = evaluateDataSettings(facts);
  if (mistakes.length > 0)
    throw new UpdateError('data-unsupported', mistakes.at(-1) ?? '', {
      detail: mistakes.slice(0, -1),
      advice: `Correct the data section of ${settingsFileName} or the label of the service, then run {command} again.`,
    });
  if (undecided.length === 0) return declared;
  const sentences = undecided.map(({ sentence }) => sentence);
  throw new UpdateError('data-undeclared', sentences.at(-1) ?? '', {
    detail: sentences.slice(0, -1),
    advice: `In ${settingsFileName}, set ${line} ("save" includes the data in restore points, and "none" excludes it). Then run {command} again.`,
  });
}

/** The settings file takes precedence over labels, and labels take precedence over the product record. */
export function evaluateDataSettings(facts: DataSelectionFacts): EvaluatedDataSettings {
  const { model, containers, updated, dataSettings: given } = facts;
  const services = Object.keys(model.services);
  const keys = given.map(({ key }) => key);
  const found = findExternalDatabases(updated, services, containers);
  const accepted = given.flatMap(({ key, word }) => (word === 'none' ? [key.toLowerCase()] : []));
  const outside = found.map(({ host }) => host).filter((host) => accepted.includes(host));
  const reached = listInStartOrder(model, updated);
  const excluded: DataCoverage['excluded'][number][] = [];
  const [uncovered, inMemory] = [new Set<string>(), new Set<string>()];
  const undecided: UndecidedData[] = [];
  const mistakes = given.flatMap((each) => findSettingMistake(each, facts, outside) ?? []);
  const covered = new Set<string>();
  for (const service of services) {
    const { image = '' } = model.services[service] ?? {};
    // A service of an inactive profile has no container.
    const hasContainers = containers.some((each) => serviceOf(each) === service);
    const mounts = mountsOf(service, facts);
    const saved = mounts.filter((mount) => isSavableMount(mount, facts.files));
    const settingOf = (path: string) => given.find(({ key }) => key === `${service}:${path}`)?.word;
    const without = new Set(
      mounts.flatMap(({ destination: path }) => (settingOf(path) === 'none' ? [path] : [])),
    );
    const hasSaved = saved.some(({ destination }) => !without.has(destination));
    const { word, where } = findDataSetting(service, facts);
    const isUpdated = updated.includes(service);
    const looks = findDataStoreKind(
      image,
      saved.map(({ destination }) => destination),
    );
    for (const path of without) excluded.push({ service, path });
    if (word !== null && !isDataKeyword(word))
      mistakes.push(`${where} is set to ${JSON.stringify(word)}, but must be "save" or "none"`);
    else if (word === 'none') excluded.push({ service, path: null });
    else if (!hasContainers) {
      if (word === 'save' && keys.includes(service))
        mistakes.push(
          `${where} is set to "save", but ${service} has no container: start the service or remove the line`,
        );
    } else if (hasSaved && (word === 'save' || reached.includes(service))) {
      covered.add(service);
      for (const mount of saved) {
        const [path, key] = [sharedHostDirectoryOf(mount, facts), `${service}:${mount.destination}`];
        if (path === null || settingOf(mount.destination) || undecided.some((each) => each.key === key))
          continue;
        const choice = isWithin(facts.directory, path)
          ? `"${key}: none"`
          : `"${key}: none" or "${key}: save"`;
        undecided.push({
          ...{ key, proposal: 'none' },
          sentence: `${key} is mounted from the host path ${JSON.stringify(path)}, which contains more than the data of ${service}: a rollback would replace everything in it. Under data, set ${choice}`,
        });
      }
    } else if (word === 'save' && !isUpdated)
      mistakes.push(`${where} is set to "save", but ${service} has no writable volume or bind mount to save`);
    else if (hasSaved && looks !== null)
      undecided.push({
        ...{ key: service, proposal: 'save' },
        sentence: `${service} (${image}), which looks like ${named[looks]}, is neither saved nor excluded, and no updated service depends on it`,
      });
    else if (hasSaved)
      for (const { destination } of saved.filter((each) => !without.has(each.destination)))
        uncovered.add(`${service}:${destination}`);
    else if (reached.includes(service) && !isUpdated && without.size === 0 && looks !== null) {
      if (looks === 'cache' || looks === 'queue') inMemory.add(service);
      else
        undecided.push({
          ...{ key: service, proposal: 'none' },
          sentence: `${service} (${image}) looks like ${named[looks]} but has no volume: its data is inside the container and cannot be saved in a restore point`,
        });
    }
  }
  for (const { host, service, variable } of found.filter((each) => !outside.includes(each.host)))
    undecided.push({
      // Do not print the host if its variable may contain a secret.
      ...{ key: isSecretKey(variable) ? `<host in ${variable}>` : host, proposal: 'none' },
      sentence: `${service} uses a database on ${host} (${variable}), which is outside the project and cannot be saved in a restore point`,
    });
  return {
    covered: listInStartOrder(model, services).filter((service) => covered.has(service)),
    ...{ excluded, uncovered: [...uncovered], inMemory: [...inMemory], outside },
    ...{ undecided, line: dataSettingsLineOf(given, undecided), mistakes },
  };
}

const named: Record<DataStoreKind, string> = {
  database: 'a database',
  queue: 'a queue',
  'search index': 'a search index',
  cache: 'a cache',
};

/** Returns the given services and all their dependencies, dependencies first. */
function listInStartOrder(model: ComposeModel, from: readonly string[]): string[] {
  const order = new Set<string>();
  const seen = new Set<string>();
  const visit = (service: string): void => {
    if (seen.has(service) || !Object.hasOwn(model.services, service)) return;
    seen.add(service);
    for (const other of Object.keys(model.services[service]?.depends_on ?? {})) visit(other);
    order.add(service);
  };
  for (const service of from) visit(service);
  return [...order];
}

/** Returns a message about an incorrect setting in the settings file; null if the setting is correct. */
function findSettingMistake(
  { key, word, where }: DataOption,
  facts: DataSelectionFacts,
  outside: readonly string[],
): string | null {
  const { services } = facts.model;
  if (Object.hasOwn(services, key) || outside.includes(key.toLowerCase())) return null;
  const at = key.indexOf(':/');
  const [service, path] = [key.slice(0, Math.max(at, 0)), key.slice(at + 1)];
  if (at > 0 && Object.hasOwn(services, service)) {
    const mount = mountsOf(service, facts).find(({ destination }) => destination === path);
    if (mount === undefined) return `${where} is set, but ${service} has no mount at ${path}`;
    return word === 'none' || sharedHostDirectoryOf(mount, facts) !== null
      ? null
      : `${where} is set to "save", but "save" applies only to a whole service; a single mount can only be set to "none"`;
  }
  return word === 'save' || at > 0
    ? `${where} is set, but the project has no service ${at > 0 ? service : key}`
    : `${where} is set, but ${key} is neither a service of the project nor a database host that an updated service uses`;
}

/** Returns a mount's host path if it contains more than one app's data; otherwise null. */
function sharedHostDirectoryOf(
  { type, source }: Mount,
  { model, directory }: DataSelectionFacts,
): string | null {
  const volume = Object.values(model.volumes ?? {}).find((each) => each?.name === source);
  const path = normalizeContainerPath(
    String(type === 'bind' ? source : toObject(volume?.driver_opts).device),
  );
  return isSharedHostDirectory(path, directory) ? path : null;
}

/**
 * Returns a service's data setting; null if there is none. `word` is the setting, such as `save`; `where` is its
 * location, for messages.
 */
function findDataSetting(
  service: string,
  { model, dataSettings: given, product }: DataSelectionFacts,
): { word: string | null; where: string } {
  const inFile = given.find(({ key }) => key === service);
  if (inFile !== undefined) return inFile;
  const label = dataLabelOf(product);
  const written = model.services[service]?.labels?.[label];
  if (written !== undefined) return { word: written, where: `label ${label} of ${service}` };
  const recorded = Object.hasOwn(product.data ?? {}, service) ? product.data?.[service] : undefined;
  return { word: recorded ?? null, where: `data of ${service} in the product record of ${product.name}` };
}

const mountsOf = (service: string, { containers }: DataSelectionFacts): Mount[] =>
  containers.filter((each) => serviceOf(each) === service).flatMap(({ mounts }) => mounts);

function dataSettingsLineOf(given: readonly DataOption[], undecided: readonly UndecidedData[]): string {
  const entries = [
    ...given.map(({ key, word }) => [key, word]),
    ...undecided.map(({ key, proposal }) => [key, proposal]),
  ];
  const quoted = (key = '') => (/^[\w.-]+(?::\/[\w./-]*)?$/.test(key) ? key : JSON.stringify(key));
  return `data: {${entries.map(([key, word]) => `${quoted(key)}: ${word}`).join(', ')}}`;
}

/** Returns the line in which `plan` proposes the missing data settings; null if none are missing. */
export function formatDataSettingProposal({ undecided, line }: EvaluatedDataSettings): string | null {
  if (undecided.length === 0) return null;
  const not = undecided.flatMap(({ key, proposal }) => (proposal === 'none' ? [key] : []));
  const without =
    not.length > 0 ? `; restore points then do not contain the data of ${joinWithAnd(not)}` : '';
  return `to use restore points (--restore-point), set ${line} in ${settingsFileName}${without}`;
}
