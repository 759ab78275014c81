import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTestHost } from '../rig/test-host.ts';
import { choose, usage } from './choose.ts';
import { runProducts, tableOf } from './run-products.ts';

/** What scripts/campaign products runs once everything is set up. */

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
