import { parse } from 'dotenv';
import * as z from 'zod/mini';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { describeInvalidSettingValue, settingValuesPath } from '../../../core/release/release-settings.ts';
import { createJsonTextSchema } from '../../../core/text/json-text.ts';
import { type CommandLine, type GivenValue, UsageError } from './command-line.ts';
import { readSmallFile } from './settings-file.ts';
import { splitNameAndValue } from './update-options.ts';

/**
 * Adds the values from `--set-file` as `--set` options. Values from the command line override them. Messages contain no
 * values.
 * @throws UsageError with all mistakes
 */
export async function addValuesFromSetFile(line: CommandLine, isTerminal: boolean): Promise<CommandLine> {
  const path = line.values.get('set-file')?.[0]?.value;
  const all = [...(path === undefined ? [] : await readSetFile(path)), ...(line.values.get('set') ?? [])];
  const mistakes = all.flatMap(({ value: text, where }) => {
    const [name, value] = splitNameAndValue(text);
    if (value === undefined)
      return isTerminal ? [] : [`${where} ${name} requires a terminal; otherwise, use ${name}=VALUE`];
    const mistake = describeInvalidSettingValue(value);
    return mistake === null ? [] : [`${where}: the value of ${name} ${mistake}`];
  });
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return all.length === 0 ? line : { ...line, values: new Map(line.values).set('set', all) };
}

/** Pairs of a name and a value: the JSON format of the file that the server writes. */
const entries = createJsonTextSchema(z.array(z.tuple([z.string(), z.string()])));
/** Line of an env file. The name `__proto__` is rejected, because dotenv ignores it. */
const lineForm = /^\s*(?:#.*|(?:export\s+)?(?!__proto__\b)[A-Za-z_][A-Za-z0-9_]*\s*=.*)?$/;

async function readSetFile(path: string): Promise<GivenValue[]> {
  const file = await readSmallFile(path, path).catch((error: unknown) => {
    throw error instanceof UpdateError ? new UsageError([error.message]) : error;
  });
  // The server's file is deleted when a run ends, and this container may have been restarted since then.
  if (file === null && path === settingValuesPath) return [];
  if (file === null) throw new UsageError([`${path} does not exist`]);
  const { data = parseEnvFileSettings(file.text, path) } = entries.safeParse(file.text);
  return data.map(([name, value]) => ({ value: `${name}=${value}`, where: path }));
}

function parseEnvFileSettings(text: string, path: string): [name: string, value: string][] {
  const wrong = text.split(/\r?\n/).flatMap((line, at) => (lineForm.test(line) ? [] : [at + 1]));
  if (wrong.length > 0) throw new UsageError(wrong.map((at) => `${path} line ${at} must be NAME=VALUE`));
  return Object.entries(parse(text));
}
