import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { report } from '../judge/report.ts';
import { openTestHost } from '../rig/test-host.ts';
import { choose, usage } from './choose.ts';
import { runProducts } from './run-products.ts';

/** The program that scripts/campaign products runs after the setup. */

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
    const tried = rows.map(({ product, form, facts, seconds }) => {
      const each = Object.values(facts);
      const lost = each.filter(({ length }) => length > 0).length;
      return { group: product.title, name: form.name, tries: each.length, lost, seconds };
    });
    for (const line of report(tried)) console.log(line);
    return tried.some(({ lost }) => lost > 0) ? 1 : 0;
  } finally {
    await close();
  }
}
