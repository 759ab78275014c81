import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Row, report } from '../judge/report.ts';
import { type GroupName, groupNames } from './fault.ts';
import { groups } from './groups.ts';

/**
 * The program that scripts/campaign faults runs after the setup. No import here may read DOCKER_HOST: see groups.ts.
 */

const usage = `usage: scripts/campaign faults [group…] [--tries N] [--seed S] [--short]

Breaks updates on purpose, on a real engine with the real image, and judges each time what is left.
Groups: ${groupNames.join(', ')}; all of them by default.

  --tries N       so many tries of every fault, in place of its own number
  --seed S        where chance begins: the same seed repeats the same tries
  --short         a few tries of each
  --fault TEXT    only faults whose name contains the text
  --lanes N       so many tries side by side
  --notes         what happened in the tries that survived, too
  --help          this text
`;

interface Choice {
  groups: readonly GroupName[];
  seed: number;
  tries: number | undefined;
  lanes: number | undefined;
  short: boolean;
  notes: boolean;
  /** A part of the names of the faults. */
  fault: string;
  directory: string;
  /** Set for the rows of the table: this is the process of a group with its own engine. */
  rows: string | undefined;
  /** Only check the arguments. */
  check: boolean;
}

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const choice = choose(argv);
  if (typeof choice === 'string') {
    const asked = choice === '';
    (asked ? process.stdout : process.stderr).write(asked ? usage : `faults: ${choice}\n\n${usage}`);
    return asked ? 0 : 2;
  }
  if (choice.check) return 0;
  const rows: Row[] = [];
  for (const name of choice.groups) {
    const here = choice.rows !== undefined || !groups[name].ownEngine;
    rows.push(...(here ? await runGroup(name, choice) : await runElsewhere(name, choice)));
  }
  if (choice.rows !== undefined) {
    await writeFile(choice.rows, JSON.stringify(rows));
    return 0;
  }
  say(...report(rows));
  return rows.some(({ lost }) => lost > 0) ? 1 : 0;
}

/** Returns an error message if the arguments are invalid, and an empty string if help is requested. */
function choose(argv: readonly string[]): Choice | string {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  let parsed: ReturnType<typeof read>;
  const read = () =>
    parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        tries: text,
        seed: text,
        lanes: text,
        fault: text,
        directory: text,
        rows: text,
        short: flag,
        notes: flag,
        check: flag,
        help: flag,
      },
    });
  try {
    parsed = read();
  } catch (error) {
    return (error as Error).message;
  }
  const { values, positionals } = parsed;
  if (values.help) return '';
  const unknown = positionals.filter((name) => !groupNames.some((known) => known === name));
  if (unknown.length > 0) return `no such group: ${unknown.join(', ')}`;
  for (const name of ['tries', 'seed', 'lanes'] as const) {
    if (values[name] !== undefined && !/^\d{1,9}$/.test(values[name])) return `--${name} is a whole number`;
  }
  const number = (value: string | undefined) => (value === undefined ? undefined : Number(value));
  const seed = number(values.seed) ?? Date.now() % 1_000_000;
  return {
    groups: groupNames.filter((name) => positionals.length === 0 || positionals.includes(name)),
    seed,
    tries: number(values.tries),
    lanes: number(values.lanes),
    short: values.short,
    notes: values.notes,
    fault: values.fault ?? '',
    directory: values.directory ?? join(tmpdir(), `svc-updater-faults-${seed}`),
    rows: values.rows,
    check: values.check,
  };
}

async function runGroup(name: GroupName, choice: Choice): Promise<Row[]> {
  const { runFaults } = await import('./run-faults.ts');
  const { faults } = await groups[name].load();
  const { host, close } = groups[name].ownEngine
    ? await (await import('./own-host.ts')).openOwnHost()
    : await (await import('../rig/test-host.ts')).openTestHost();
  const stop = () => {
    // Other tries may still create objects; the second round removes them.
    close()
      .catch(() => close())
      .catch(() => {})
      .finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await runFaults(
      faults.filter((fault) => fault.name.includes(choice.fault)),
      host,
      { ...choice, lanes: choice.lanes ?? groups[name].lanes, say },
    );
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await close();
  }
}

async function runElsewhere(name: GroupName, choice: Choice): Promise<Row[]> {
  const { seed, tries, lanes, short, notes, fault, directory } = choice;
  const scratch = await mkdtemp(join(tmpdir(), 'svc-updater-faults-'));
  const rows = join(scratch, 'rows.json');
  const args = [name, '--seed', `${seed}`, '--fault', fault, '--directory', directory, '--rows', rows];
  if (tries !== undefined) args.push('--tries', `${tries}`);
  if (lanes !== undefined) args.push('--lanes', `${lanes}`);
  if (short) args.push('--short');
  if (notes) args.push('--notes');
  try {
    const { runInOwnHost } = await import('./own-host.ts');
    const exitCode = await runInOwnHost(import.meta.filename, args);
    if (exitCode !== 0) throw new Error(`the process of ${name} ended with exit code ${exitCode}`);
    return JSON.parse(await readFile(rows, 'utf8')) as Row[];
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function say(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}
