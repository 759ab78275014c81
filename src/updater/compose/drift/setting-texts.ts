import { interpolate } from '../../../core/compose/interpolation.ts';
import { createSourceMappedText } from '../../../core/compose/source-map.ts';
import { listCopiedPaths } from '../../../engine/containers/copied-files.ts';
import { type Json, toList, toObject } from '../../../engine/objects/json.ts';
import { removeTrailingSlash } from './find-differences.ts';

/** Position of a service's setting in the files. The item is `''` if the section has a single value. */
export interface ServiceSettingPath {
  section: string;
  item: string;
}

/** Section for the contents of configs, keyed by their names at the top level. */
export const inlineConfigSection = 'content of configs';

/** Compose file keys that contain a section's settings, for sections that are not named after their key. */
const sectionKeys: Readonly<Record<string, readonly string[]>> = {
  ...{ 'logging options': ['logging'], 'volume options': ['volumes'], labels: ['labels', 'label_file'] },
  ...{ 'network address': ['networks'], 'network aliases': ['networks'], 'network options': ['networks'] },
};
const alsoInDeploy = ['gpus', 'restart', 'cpus', 'mem_limit', 'mem_reservation', 'pids_limit'];

/**
 * Returns the texts in the files that determine one setting of a service, with unresolved variables.
 * @param written - the output of `docker compose config --no-interpolate`
 */
export function findServiceSettingTexts(
  written: unknown,
  service: string,
  { section, item }: ServiceSettingPath,
): string[] {
  const whole = toObject(written);
  if (section === inlineConfigSection) return listTexts(toObject(toObject(whole.configs)[item]).content);
  const own = getServiceSection(written, service);
  const files = section === 'volumes' ? listMountedFiles(whole, own, item) : [];
  if (files.length > 0) return files;
  const deploy = alsoInDeploy.includes(section) ? ['deploy'] : [];
  const sections = [...(sectionKeys[section] ?? [section]), ...deploy].map((name) => own[name]);
  const bare = section === 'environment' ? formatPassedThrough : () => '';
  const found = sections.flatMap((value) => textsOfItem(value, item, bare));
  // The top level of the file may give the network a different name in the engine.
  if (section === 'networks') found.push(...listTexts(whole.networks));
  if (section === 'volumes') found.push(...listVolumeTexts(whole, own, item));
  return found;
}

const getServiceSection = (written: unknown, service: string): Json =>
  toObject(toObject(toObject(written).services)[service]);

/**
 * Returns the texts of the volume mounted at the target. If variables hide which volume that is, returns the texts of
 * all volumes.
 */
function listVolumeTexts(whole: Json, own: Json, target: string): string[] {
  const volumes = toObject(whole.volumes);
  const mounts = toList(own.volumes)
    .map(toObject)
    .filter((each) => removeTrailingSlash(each.target) === target);
  const sources = mounts.map(({ source }) => String(source ?? ''));
  const isTold = sources.length > 0 && !sources.some((source) => source.includes('$'));
  return isTold ? sources.flatMap((source) => listTexts(volumes[source])) : listTexts(volumes);
}

/** Returns the source file paths of the configs and secrets mounted at the target. */
const listMountedFiles = (whole: Json, own: Json, target: string): string[] =>
  (['configs', 'secrets'] as const).flatMap((kind) =>
    toList(own[kind])
      .filter((reference) => listCopiedPaths({ [kind]: [reference] }).includes(target))
      .flatMap((reference) => {
        const source = typeof reference === 'string' ? reference : String(toObject(reference).source);
        return listTexts(toObject(toObject(whole[kind])[source]).file);
      }),
  );

/** Whether the service's own `environment`, rather than an env file, contains the variable. */
export const isInEnvironment = (written: unknown, service: string, key: string): boolean =>
  findItem(getServiceSection(written, service).environment, key, formatPassedThrough) !== undefined;

/** Returns the absolute paths of a service's env files. */
export const envFilePathsOf = (written: unknown, service: string): string[] =>
  toList(getServiceSection(written, service).env_file).flatMap((entry) => {
    const path = typeof entry === 'string' ? entry : toObject(entry).path;
    return typeof path === 'string' ? [path] : [];
  });

type BareKeyFormatter = (key: string) => string;

/**
 * Returns the texts of an item, or those of the whole section if it does not contain the item.
 * @param bare - returns the text for a key without a value
 */
function textsOfItem(section: unknown, item: string, bare: BareKeyFormatter): string[] {
  const found = item === '' ? undefined : findItem(section, item, bare);
  return listTexts(found === undefined ? section : found);
}

/**
 * Finds an item in a map, or in a list of `KEY=value` entries, `host:ip` entries or maps. In a list of maps, the item
 * is one of a map's values, and the whole map is returned.
 */
function findItem(section: unknown, item: string, bare: BareKeyFormatter): unknown {
  if (!Array.isArray(section)) {
    const map = toObject(typeof section === 'object' ? section : {});
    return Object.hasOwn(map, item) ? (map[item] ?? bare(item)) : undefined;
  }
  const found = section.flatMap((entry) => {
    if (entry === item) return [bare(item)];
    if (typeof entry === 'string')
      return entry.startsWith(`${item}=`) || entry.startsWith(`${item}:`) ? [entry] : [];
    return Object.values(toObject(entry)).some((value) => removeTrailingSlash(value) === item) ? [entry] : [];
  });
  return found.length > 0 ? found : undefined;
}

/** Formats a variable without a value as a reference, because compose takes its value from the files or the shell. */
const formatPassedThrough = (key: string): string => `\${${key}}`;

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(listTexts) : [];
}

/** Returns the value that the files set for a variable; null if no file sets it. */
export type VariableResolver = (name: string) => string | null;

/**
 * Resolves a text as compose does, and lists its variables that no file sets, including optional ones. The resolved
 * text is null if compose would reject the text.
 */
export function resolveSettingText(
  text: string,
  setTo: VariableResolver,
): { resolved: string | null; unset: string[] } {
  const unset = new Set<string>();
  const plain = (content: string) => createSourceMappedText(content, '', -1, { via: 'text' });
  const lookup = (name: string) => {
    const value = setTo(name);
    if (value === null) unset.add(name);
    return value === null ? null : plain(value);
  };
  // Make required variables optional. An unset required variable would stop the interpolation before the next ones.
  const template = plain(text.replace(/(\$\{\w+:?)\?/g, '$1-'));
  try {
    return { resolved: interpolate(template, lookup, '').text, unset: [...unset] };
  } catch {
    return { resolved: null, unset: [...unset] };
  }
}

/** Returns the variables in these texts that no file sets, without duplicates. */
export const listUnsetVariables = (texts: readonly string[], setTo: VariableResolver): string[] => [
  ...new Set(texts.flatMap((text) => resolveSettingText(text, setTo).unset)),
];

/** Whether one of the texts contains a variable with a default, such as `${TAG:-v1}`. */
export const hasVariableDefault = (texts: readonly string[]): boolean =>
  texts.some((text) => /\$\{\w+:?-[^}]/.test(text.replaceAll('$$', '')));
