import { parseArgs } from 'node:util';

export type FlagKind = 'text' | 'list' | 'flag';

/** A value and where it was said, for the sentence about a mistake in it. */
export interface GivenValue {
  value: string;
  where: string;
}

/** Every flag of a command line with what was said; mistakes are added to the list. */
export function readFlags(
  args: readonly string[],
  flags: Record<string, FlagKind>,
  mistakes: string[],
): Map<string, GivenValue[]> {
  const said = new Map<string, GivenValue[]>();
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(flags).map(([name, kind]) => [
        name,
        { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), multiple: true },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') mistakes.push(`unexpected argument "${token.value}"`);
    if (token.kind !== 'option') continue;
    const kind = flags[token.name];
    const where = `--${token.name}`;
    if (kind === undefined || !token.rawName.startsWith('--'))
      mistakes.push(`unknown option ${token.rawName}`);
    else if (kind === 'flag' && token.value !== undefined) mistakes.push(`${where} takes no value`);
    else if (kind !== 'flag' && !token.value) mistakes.push(`${where} needs a value`);
    else if (kind === 'text' && said.has(token.name)) mistakes.push(`${where} is given twice`);
    else said.set(token.name, [...(said.get(token.name) ?? []), { value: token.value ?? '', where }]);
  }
  return said;
}
