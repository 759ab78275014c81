import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestHost } from '../rig/test-host.ts';
import { Installed } from './installed.ts';
import type { Form, Product } from './product.ts';
import { type TrialName, trialNames, trials, withoutVersion } from './trials.ts';

/** The result of a product in one form: the errors of each trial. */
export interface Row {
  product: Product;
  form: Form;
  facts: Partial<Record<TrialName, string[]>>;
  seconds: number;
  /** The log file of a failed row. */
  log: string | null;
}

export interface RunOptions {
  /** Number of rows that run in parallel. */
  lanes: number;
  /** The directory for logs of failed rows. */
  directory: string;
  trials?: readonly TrialName[];
  say(line: string): void;
}

/** Tests every product in every selected form, and reports each as soon as it is finished. */
export async function runProducts(
  chosen: readonly [Product, Form][],
  host: TestHost,
  options: RunOptions,
): Promise<Row[]> {
  const waiting = [...chosen];
  const rows: Row[] = [];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const row = await tryOne(next, host, options);
      rows.push(row);
      const reds = Object.entries(row.facts).filter(([, facts]) => facts.length > 0);
      options.say(`${reds.length === 0 ? 'ok ' : 'RED'}  ${titleOf(row)}, ${row.seconds} s`);
      for (const [name, facts] of reds)
        for (const fact of facts) options.say(`       ${name}: ${shortened(fact)}`);
      if (row.log !== null) options.say(`       log: ${row.log}`);
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
  return chosen.flatMap(([product, form]) =>
    rows.filter((row) => row.product === product && row.form === form),
  );
}

const shortened = (fact: string): string =>
  fact.length < 800 ? fact : `${fact.slice(0, 500)} … ${fact.slice(-280)}`;

const titleOf = ({ product, form }: Pick<Row, 'product' | 'form'>): string =>
  `${product.title}, ${form.name}`;

async function tryOne([product, form]: [Product, Form], host: TestHost, options: RunOptions): Promise<Row> {
  const began = performance.now();
  const facts: Row['facts'] = {};
  const logs: string[] = [];
  try {
    const installed = await Installed.start(host, product, form);
    try {
      for (const name of trialNames) {
        if (!(options.trials ?? trialNames.filter((each) => each !== 'enable')).includes(name)) continue;
        const trial = form.name === 'no version' ? withoutVersion[name] : trials[name];
        if (trial === undefined) continue;
        facts[name] = await trial(installed).catch((error: Error) => [`${error.stack ?? error}`]);
      }
    } finally {
      for (const { words, result } of installed.said) logs.push(`==== ${words}\n${result.log}`);
      await installed.dispose();
    }
  } catch (error) {
    facts['no target'] = [`${(error as Error).stack ?? error}`];
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  const isRed = Object.values(facts).some((each) => each.length > 0);
  const log = isRed
    ? join(options.directory, `${product.title}-${form.name}.log`.replaceAll(' ', '-'))
    : null;
  if (log !== null) {
    await mkdir(options.directory, { recursive: true });
    await writeFile(log, logs.join('\n'));
  }
  return { product, form, facts, seconds, log };
}
