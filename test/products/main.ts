import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openTestHost } from '../rig/test-host.ts';
import { products } from './all.ts';
import type { Form, Product } from './product.ts';
import { runProducts, tableOf } from './run-products.ts';
import { type TrialName, trialNames } from './trials.ts';

/** What scripts/products runs once everything is set up. */

const usage = `usage: scripts/products [PRODUCT…] [--form FORM] [--trial TRIAL…] [--lanes N]

Sets up products that people host, by the facts of their published compose files and with stand-in images, and does with
each what its owner does. Prints a table, and ends with 1 where something is not right.

  PRODUCT         a part of a title: ${products.map(({ title }) => title).join(', ')}
  --form FORM     published, pinned, 'in parts' or floating; all by default
  --trial TRIAL   ${trialNames.join(', ')}; all by default
  --lanes N       so many side by side; 2 by default
  --help          this text
`;

interface Choice {
  chosen: [Product, Form][];
  trials: readonly TrialName[] | undefined;
  lanes: number;
}

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const choice = choose(argv);
  if (typeof choice === 'string') {
    const asked = choice === '';
    (asked ? process.stdout : process.stderr).write(asked ? usage : `products: ${choice}\n\n${usage}`);
    return asked ? 0 : 2;
  }
  const { host, close } = await openTestHost();
  try {
    const rows = await runProducts(choice.chosen, host, {
      lanes: choice.lanes,
      directory: join(tmpdir(), 'svc-updater-products'),
      ...(choice.trials === undefined ? {} : { trials: choice.trials }),
      say: (line) => console.log(line),
    });
    console.log(`\n${tableOf(rows)}`);
    const reds = rows.filter(({ facts }) => Object.values(facts).some((each) => each.length > 0));
    console.log(`\n${rows.length} tried, ${reds.length} not right`);
    return reds.length > 0 ? 1 : 0;
  } finally {
    await close();
  }
}

/** A sentence where the arguments are wrong, the empty one where help is asked for. */
function choose(argv: readonly string[]): Choice | string {
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
