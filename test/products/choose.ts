import { parseArgs } from 'node:util';
import { products } from './all.ts';
import type { Form, Product } from './product.ts';
import { type TrialName, trialNames } from './trials.ts';

export const usage = `usage: scripts/campaign products [PRODUCT…] [--form FORM] [--trial TRIAL…] [--lanes N]

Sets up products that people host, by the facts of their published compose files and with stand-in images, and does with
each what its owner does. Prints a table, and ends with 1 where something is not right.

  PRODUCT         a part of a title: ${products.map(({ title }) => title).join(', ')}
  --form FORM     published, pinned, 'in parts', floating or 'no version'; all by default
  --trial TRIAL   ${trialNames.join(', ')}; all by default
  --lanes N       so many side by side; 2 by default
  --help          this text
`;

/** The tests selected by the arguments of scripts/campaign products. */
export interface Choice {
  chosen: [Product, Form][];
  trials: readonly TrialName[] | undefined;
  lanes: number;
}

/** Returns an error message if the arguments are invalid, and an empty string if help is requested. */
export function choose(argv: readonly string[]): Choice | string {
  const read = () =>
    parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        form: { type: 'string' },
        trial: { type: 'string', multiple: true },
        lanes: { type: 'string', default: '2' },
        help: { type: 'boolean', default: false },
      },
    });
  let parsed: ReturnType<typeof read>;
  try {
    parsed = read();
  } catch (error) {
    return (error as Error).message;
  }
  const { values, positionals } = parsed;
  if (values.help) return '';
  if (!/^[1-9]\d?$/.test(values.lanes)) return '--lanes is a whole number from 1 on';
  const fits = (word: string) =>
    products.filter(({ title }) => title.toLowerCase().includes(word.toLowerCase()));
  const unknown = positionals.find((word) => fits(word).length === 0);
  if (unknown !== undefined) return `no such product: ${unknown}`;
  const wrong = values.trial?.find((name) => !trialNames.includes(name as TrialName));
  if (wrong !== undefined) return `no such trial: ${wrong}`;
  const wanted = positionals.length === 0 ? products : [...new Set(positionals.flatMap(fits))];
  const chosen = wanted.flatMap((product) =>
    product.forms
      .filter(
        (form, at) =>
          values.form === undefined || form.name === values.form || (values.form === 'published' && at === 0),
      )
      .map((form): [Product, Form] => [product, form]),
  );
  if (chosen.length === 0) return `no such form: ${values.form}`;
  return { chosen, trials: values.trial as TrialName[] | undefined, lanes: Number(values.lanes) };
}
