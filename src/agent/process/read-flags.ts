import { parseArgs } from 'node:util';
import type { OptionTable } from './option-table.ts';

/** A value and where it was said, for the sentence about a mistake in it. */
export interface GivenValue {
  value: string;
  where: string;
}

/** Every option of a command line with what was said, 1 for a switch; mistakes are added to the list. */
export function readFlags(
  args: readonly string[],
  table: OptionTable,
  mistakes: string[],
): Map<string, GivenValue[]> {
  const said = new Map<string, GivenValue[]>();
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') mistakes.push(`unexpected argument "${token.value}"`);
    if (token.kind !== 'option') continue;
    const row = table[token.name];
    const isSwitch = row?.value === undefined;
    const where = `--${token.name}`;
    if (row === undefined || !token.rawName.startsWith('--'))
      mistakes.push(`unknown option ${token.rawName}`);
    else if (isSwitch && token.value !== undefined) mistakes.push(`${where} takes no value`);
    else if (!isSwitch && !token.value) mistakes.push(`${where} needs a value`);
    else if (!isSwitch && !row.isList && said.has(token.name)) mistakes.push(`${where} is given twice`);
    else said.set(token.name, [...(said.get(token.name) ?? []), { value: token.value ?? '1', where }]);
  }
  return said;
}
