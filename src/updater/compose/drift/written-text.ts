import { interpolate } from '../../../core/compose/interpolation.ts';
import { trace } from '../../../core/compose/traced.ts';
import { copiedPaths } from '../../../engine/api/copied-files.ts';
import { type Json, list, object } from '../../../engine/json.ts';
import { withoutSlash } from './shape.ts';

/** Where something of a service is said: a section of its shape, and an item of that, `''` where the section is one value. */
export interface Place {
  section: string;
  item: string;
}

/** The section of the content of configs, by their names at the top of the file. */
export const inlineConfig = 'content of configs';

/** Where a section of a container's shape is written in a compose file, if not under its own name alone. */
const writtenUnder: Readonly<Record<string, readonly string[]>> = {
  ...{ 'logging options': ['logging'], 'volume options': ['volumes'], labels: ['labels', 'label_file'] },
  ...{ 'network address': ['networks'], 'network aliases': ['networks'], 'network options': ['networks'] },
};
const alsoInDeploy = ['gpus', 'restart', 'cpus', 'mem_limit', 'mem_reservation', 'pids_limit'];

/**
 * The texts that decide an item of a service, as they are written: with their variables.
 * @param written what `docker compose config --no-interpolate` prints
 */
export function writtenTexts(written: unknown, service: string, { section, item }: Place): string[] {
  const whole = object(written);
  if (section === inlineConfig) return textsIn(object(object(whole.configs)[item]).content);
  const own = object(object(whole.services)[service]);
  const files = section === 'volumes' ? mountedFiles(whole, own, item) : [];
  if (files.length > 0) return files;
  const deploy = alsoInDeploy.includes(section) ? ['deploy'] : [];
  const sections = [...(writtenUnder[section] ?? [section]), ...deploy].map((name) => own[name]);
  const bare = section === 'environment' ? passedThrough : () => '';
  const found = sections.flatMap((value) => textsOfItem(value, item, bare));
  // The names of networks in the engine are defined at the top level.
  if (section === 'networks') found.push(...textsIn(whole.networks));
  if (section === 'volumes') found.push(...volumeTexts(whole, own, item));
  return found;
}

/** The texts of the volume mounted there, or of all volumes if the text does not specify which. */
function volumeTexts(whole: Json, own: Json, target: string): string[] {
  const volumes = object(whole.volumes);
  const mounts = list(own.volumes)
    .map(object)
    .filter((each) => withoutSlash(each.target) === target);
  const sources = mounts.map(({ source }) => String(source ?? ''));
  const isTold = sources.length > 0 && !sources.some((source) => source.includes('$'));
  return isTold ? sources.flatMap((source) => textsIn(volumes[source])) : textsIn(volumes);
}

/** What a config or a secret that is mounted there is read from. */
const mountedFiles = (whole: Json, own: Json, target: string): string[] =>
  (['configs', 'secrets'] as const).flatMap((kind) =>
    list(own[kind])
      .filter((reference) => copiedPaths({ [kind]: [reference] }).includes(target))
      .flatMap((reference) => {
        const source = typeof reference === 'string' ? reference : String(object(reference).source);
        return textsIn(object(object(whole[kind])[source]).file);
      }),
  );

/** Whether the service's `environment` itself has the variable. */
export const isInEnvironment = (written: unknown, service: string, key: string): boolean =>
  itemIn(object(object(object(written).services)[service]).environment, key, passedThrough) !== undefined;

/** Env files of a service, absolute. */
export const envFilesOf = (written: unknown, service: string): string[] =>
  list(object(object(object(written).services)[service]).env_file).flatMap((entry) => {
    const path = typeof entry === 'string' ? entry : object(entry).path;
    return typeof path === 'string' ? [path] : [];
  });

type Bare = (key: string) => string;

/** @param bare the text for a key without a value */
function textsOfItem(section: unknown, item: string, bare: Bare): string[] {
  const found = item === '' ? undefined : itemIn(section, item, bare);
  return textsIn(found === undefined ? section : found);
}

/** Of a map, or of a list of `KEY=value`, of `host:ip`, of maps that have it as a target. */
function itemIn(section: unknown, item: string, bare: Bare): unknown {
  if (!Array.isArray(section)) {
    const map = object(typeof section === 'object' ? section : {});
    return Object.hasOwn(map, item) ? (map[item] ?? bare(item)) : undefined;
  }
  const found = section.flatMap((entry) => {
    if (entry === item) return [bare(item)];
    if (typeof entry === 'string')
      return entry.startsWith(`${item}=`) || entry.startsWith(`${item}:`) ? [entry] : [];
    return Object.values(object(entry)).some((value) => withoutSlash(value) === item) ? [entry] : [];
  });
  return found.length > 0 ? found : undefined;
}

/** A variable of the environment without a value takes that of the variable of its name. */
const passedThrough = (key: string): string => `\${${key}}`;

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];
}

/** The value of a variable as the files set it; null where none does. */
export type SetValue = (name: string) => string | null;

/**
 * What a text comes to as compose resolves it, and the variables that it needs, or would take if they were set, and that no
 * file sets. The text is null where compose could not read it.
 */
export function resolveText(text: string, setTo: SetValue): { resolved: string | null; unset: string[] } {
  const unset = new Set<string>();
  const plain = (content: string) => trace(content, '', -1, { via: 'text' });
  const lookup = (name: string) => {
    const value = setTo(name);
    if (value === null) unset.add(name);
    return value === null ? null : plain(value);
  };
  // A variable that must be set ends the reading where it is not: what follows counts, too.
  const template = plain(text.replace(/(\$\{\w+:?)\?/g, '$1-'));
  try {
    return { resolved: interpolate(template, lookup, '').text, unset: [...unset] };
  } catch {
    return { resolved: null, unset: [...unset] };
  }
}

/** The variables in these texts that no file sets, without duplicates. */
export const unsetIn = (texts: readonly string[], setTo: SetValue): string[] => [
  ...new Set(texts.flatMap((text) => resolveText(text, setTo).unset)),
];

/** Whether one of the texts has a default for an unset variable. */
export const hasDefault = (texts: readonly string[]): boolean =>
  texts.some((text) => /\$\{\w+:?-[^}]/.test(text.replaceAll('$$', '')));
