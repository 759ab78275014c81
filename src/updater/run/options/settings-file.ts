import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq } from 'yaml';
import { formatOffsetLocation } from '../../../core/compose/project-files.ts';
import { parseYamlDocuments } from '../../../core/compose/yaml-document.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import type { Log } from '../log/run-log.ts';
import { type CommandLine, findUsageMistakes, type GivenValue, type OptionValues } from './command-line.ts';
import { settingsByKey as known, optionsByCommand, type SettingForm, settingsKeyOf } from './option-table.ts';

const maxBytes = 64 * 1024;

/**
 * Adds the settings in the compose directory to the command line. Options and variables override them.
 * @throws UpdateError settings-invalid, with all mistakes
 */
export async function addSettingsFromFile(
  line: CommandLine,
  directory: string,
  log: Log,
): Promise<CommandLine> {
  const file = await readSmallFile(join(directory, settingsFileName), settingsFileName);
  if (file === null) return line;
  const settings = parseSettingsFile(file);
  const words = [...settings].map(
    ([flag, given]) => `${settingsKeyOf(flag)} ${given.map(formatSettingValue(flag)).join(', ')}`,
  );
  if (words.length > 0) log.info(`${settingsFileName}: ${words.join('; ')}`);
  const values = addMissingSettings(line, settings);
  const mistakes = findUsageMistakes(line.command, values);
  if (mistakes.length > 0) throw createInvalidSettingsError(mistakes);
  return { ...line, values };
}

/** Adds only settings that the command supports and the command line does not set. */
export function addMissingSettings({ command, values }: CommandLine, settings: OptionValues): OptionValues {
  const all = new Map(values);
  const services = (values.get('service') ?? []).map(({ value }) => value);
  for (const [name, given] of settings) {
    const isOption = name in optionsByCommand[command] || (name === 'data' && command !== 'bump');
    if (all.has(name) || !isOption) continue;
    // A service on the command line is updated even if the file excludes it.
    const kept = given.filter(({ value }) => name !== 'exclude' || !services.includes(value));
    if (kept.length > 0) all.set(name, kept);
  }
  return all;
}

/**
 * Returns the values keyed by option.
 * @throws UpdateError settings-invalid
 */
export function parseSettingsFile(file: TextFile): OptionValues {
  const [document, ...others] = parsed(file);
  const at = (node: unknown): string =>
    formatOffsetLocation(file, (node as { range?: number[] } | null)?.range?.[0] ?? 0);
  const contents = document?.contents ?? null;
  if (others.length > 0)
    throw createInvalidSettingsError([
      `${settingsFileName} contains several YAML documents, but only one is allowed`,
    ]);
  if (contents === null) return new Map();
  if (!isMap(contents))
    throw createInvalidSettingsError([
      `${at(contents)}: ${settingsFileName} must contain keys and values, such as "services: [app]"`,
    ]);
  const mistakes: string[] = [];
  const values = new Map<string, GivenValue[]>();
  const follow = (node: unknown) => document?.resolveAlias(node) ?? null;
  for (const { key, value: written } of contents.items) {
    const name = textOf(key) ?? '';
    const where = `${at(key)}: ${name}`;
    const setting = known.get(name);
    const value = follow(written);
    if (setting === undefined)
      mistakes.push(`${at(key)}: unknown key "${name}"; known keys are ${[...known.keys()].join(', ')}`);
    else {
      const given = settingReaders[setting.form](value, { name, where, at, follow });
      if (typeof given === 'string') mistakes.push(`${where} ${given}`);
      else if (given.length > 0) values.set(setting.name, given);
    }
  }
  if (mistakes.length > 0) throw createInvalidSettingsError(mistakes);
  return values;
}

interface Place {
  name: string;
  where: string;
  at(node: unknown): string;
  follow(node: unknown): unknown;
}

/** Each reader returns the values, or the end of an error message, such as `must be a single value`. */
const settingReaders: Record<SettingForm, (node: unknown, location: Place) => GivenValue[] | string> = {
  value: (node, { where }) => {
    const value = textOf(node);
    return value ? [{ value, where }] : 'must be a single value';
  },
  list: (node, { name, where, follow }) => {
    if (!isSeq(node)) return 'must be a list, such as [app, worker]';
    const values = node.items.map((item) => textOf(follow(item)) ?? '');
    if (values.length === 0 || values.includes(''))
      return `must be a list of ${{ files: 'files', notify: 'addresses' }[name] ?? 'service names'}`;
    return values.map((value) => ({ value, where }));
  },
  switch: (node, { where }) => {
    const value = isScalar(node) ? node.value : null;
    return typeof value === 'boolean' ? [{ value: value ? '1' : '0', where }] : 'must be true or false';
  },
  pairs: (node, { name, at, follow }) => {
    if (!isMap(node)) return 'must specify "save" or "none" for each service, such as {db: save}';
    return node.items.map(({ key: written, value }) => {
      const key = textOf(follow(written)) ?? '';
      return { key, value: textOf(follow(value)) ?? '', where: `${at(written)}: ${name} of ${key}` };
    });
  },
};

/** Formats a value as written in the file. */
const formatSettingValue =
  (flag: string) =>
  ({ value, key }: GivenValue): string => {
    if (key !== undefined) return `${key}: ${value}`;
    if (optionsByCommand.update[flag]?.isSecret) return '***';
    return known.get(settingsKeyOf(flag))?.form === 'switch' ? String(value === '1') : value;
  };

function parsed(file: TextFile) {
  try {
    return parseYamlDocuments(file);
  } catch (error) {
    throw error instanceof UpdateError ? createInvalidSettingsError([error.message]) : error;
  }
}

/** Returns a scalar as written in the file: a service may be called `no`, and `007` must not become 7. */
const textOf = (node: unknown): string | null => {
  if (!isScalar(node) || node.value === null) return null;
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
};

const createInvalidSettingsError = (mistakes: readonly string[]): UpdateError =>
  new UpdateError('settings-invalid', mistakes.at(-1) ?? '', { detail: mistakes.slice(0, -1) });

const problemsByErrorCode: Readonly<Record<string, string>> = {
  ELOOP: 'is a symbolic link, but must be a regular file',
  EISDIR: 'is not a regular file',
  EINVAL: 'is not a regular file',
  EFBIG: 'is larger than 64 KiB',
};

/**
 * Reads a text file of at most 64 KiB; returns null if the file does not exist.
 * @throws UpdateError settings-invalid
 */
export async function readSmallFile(path: string, name: string): Promise<TextFile | null> {
  // Another user's link could point at any file on the host.
  const bytes = await readLimitedFile(path, { limit: maxBytes, mayBeLink: false }).catch(
    async ({ code, message }: NodeJS.ErrnoException) => {
      // If the directory cannot be read either, the file counts as missing, because a later check fails with a clearer
      // message.
      const isHidden = code === 'EACCES' && (await access(dirname(path), constants.X_OK).catch(() => true));
      if (code === 'ENOENT' || code === 'ENOTDIR' || isHidden) return null;
      throw createInvalidSettingsError([
        `${name} ${problemsByErrorCode[code ?? ''] ?? `cannot be read (${code ?? message})`}`,
      ]);
    },
  );
  if (bytes === null) return null;
  try {
    return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw createInvalidSettingsError([`${name} is not valid UTF-8 text`]);
  }
}
