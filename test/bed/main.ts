import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openTestHost } from '../rig/test-host.ts';
import { type DatabaseKind, databaseKinds } from './app/database.ts';
import { badReleases } from './bad-releases.ts';
import { runBed, type Score } from './run-bed.ts';

/** The program behind scripts/campaign bed. */

const usage = `usage: scripts/campaign bed [${databaseKinds.join('|')}|all] [--only NAME] [--unguarded] [--list]

Updates an app with a database, uploads and other services to ${badReleases.length} bad releases, one after the other, each with a restore
point. After each, everything must be as before, including the data.

  --unguarded       no updater: compose starts each release, and the judge must find its damage
  --only NAME,…     only rows whose name contains one of these
  --directory DIR   where the logs of the runs are written
  --list            print the bad releases
`;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      only: { type: 'string', default: '' },
      directory: { type: 'string', default: join(tmpdir(), `svc-updater-bed-${process.pid}`) },
      unguarded: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const asked = positionals.length === 0 || positionals.includes('all') ? databaseKinds : positionals;
  const known = asked.filter((each): each is DatabaseKind => databaseKinds.some((name) => name === each));
  if (values.help || known.length < asked.length) {
    say(usage);
    return values.help ? 0 : 2;
  }
  if (values.list) {
    for (const { name } of badReleases) say(name);
    return 0;
  }
  const { host, close } = await openTestHost();
  const stop = () => close().finally(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const scores: Score[] = [];
  try {
    for (const database of known) {
      const { only, directory, unguarded: isUnguarded } = values;
      const score = await runBed(host, database, { only, directory, isUnguarded, say });
      say(`${database}: ${told(score)}`);
      scores.push(score);
    }
  } finally {
    await close();
  }
  say(`logs of all runs: ${values.directory}`);
  return scores.every(({ bad, well, further, furtherWell }) => bad === well && further === furtherWell)
    ? 0
    : 1;
}

function told({ bad, well, further, furtherWell }: Score): string {
  return `${well} of ${bad}${further === 0 ? '' : `, and ${furtherWell} of ${further} further`}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
