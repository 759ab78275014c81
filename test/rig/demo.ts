import { chmod, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { execa } from 'execa';
import { askEngine, engineSocket, findNamed, removeNamed } from './engine-api.ts';
import { type Instance, startInstance } from './instance.ts';
import { type Outage, watchOutage } from './outage.ts';
import type { ContainerState, Snapshot } from './snapshot.ts';
import { openTestHost } from './test-host.ts';
import { updaterImage } from './updater-run.ts';

/** What scripts/demo runs once everything is set up; its argument is `run`, `keep` or `remove`. */

const [mode = 'run'] = process.argv.slice(2);
/** Stands in the name of everything that the demo makes, and of nothing else. */
const name = 'svc-updater-demo';
const directory = join(process.env.STATE ?? '/var/lib/svc-updater-dev', 'demo');
const registry = process.env.REGISTRY ?? '127.0.0.1:5000';
const docker = process.env.DEMO_DOCKER ?? 'docker';
const from = 'v1.0.0';
const to = 'v1.1.0';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interruption.signal.aborted) say('', `${signal}: cleaning up, a moment`);
    interruption.abort();
  });
}

const colored = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code: number) => (text: string) => (colored ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = paint(1);
const dim = paint(2);

process.exitCode = await main().catch((error) => {
  if (interruption.signal.aborted) return 130;
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  return 1;
});

async function main(): Promise<number> {
  const removed = await removeAll();
  if (mode === 'remove') {
    say(removed ? 'removed the instance of the demo' : 'there is nothing to remove');
    return 0;
  }
  if (removed) say('  removed what an earlier demo had left');
  let kept = false;
  try {
    const { instance, well } = await story();
    kept = mode === 'keep' && !interruption.signal.aborted;
    if (kept) howToLookAround(instance);
    return well ? 0 : 1;
  } finally {
    if (!kept) {
      await removeAll();
      say('', 'Everything of the demo is removed again. --keep leaves the instance running.');
    }
  }
}

async function story(): Promise<{ instance: Instance; well: boolean }> {
  heading(`1. An instance at ${from}`);
  await mkdir(directory, { recursive: true });
  // Not readable by others: the instance has a password in its .env.
  await chmod(directory, 0o700);
  const { host } = await openTestHost({ run: name, directory, registry });
  goOn();
  const instance = await startInstance(host, { name, tag: from, publish: [to] });
  goOn();
  const url = `http://127.0.0.1:${instance.port}/version`;
  say(
    `Five services run in ${instance.directory}.`,
    `Its compose.prod.yaml is written by hand and says`,
    ...(await linesWith(instance, 'compose.prod.yaml', `/svc:`)).slice(0, 1),
    'and its .env says',
    ...(await linesWith(instance, '.env', 'SVC_VERSION')),
    'It answers:',
  );
  command(`curl ${url}`);
  say(`${await instance.version()}`);
  const before = await instance.snapshot();

  heading('2. What an update would do');
  const planned = await runUpdater(instance, ['plan', '--target', to]);
  if (planned !== 0) throw new Error(`plan ended with exit code ${planned}`);

  heading('3. The update');
  const watch = watchOutage(url);
  const exitCode = await runUpdater(instance, ['--target', to]).finally(() => watch.stop());
  const outage = await watch.stop();
  const after = await instance.snapshot();

  heading('4. Before and after');
  table([
    ['service', 'image', '', 'container', '', ''],
    ...inOrder(before).map(([key, was]) => row(was, after.containers[key])),
  ]);
  const well = exitCode === 0 && judge(before, after, outage);
  if (exitCode !== 0) say('', bold(`The update failed with exit code ${exitCode}: see the log above.`));
  return { instance, well };
}

/** Runs the updater the way an operator does, its log straight to this output. Gives its exit code. */
async function runUpdater(instance: Instance, args: readonly string[]): Promise<number> {
  // An updater of somebody's own instance may be at work on this engine.
  const taken = (await askEngine('GET', '/containers/svc-updater/json')).status !== 404;
  const container = taken ? `${name}-run` : 'svc-updater';
  const parts = [
    ['docker', 'run', '--rm', '--name', container, '--stop-timeout', '120'],
    ['-v', `${engineSocket}:/var/run/docker.sock`],
    ['-v', `${instance.directory}:${instance.directory}`],
    [updaterImage, ...args],
  ];
  command(parts.map((part) => part.join(' ')).join(' \\\n    '));
  const [file = 'docker', ...rest] = parts.flat();
  const run = execa(file, rest, {
    all: true,
    buffer: false,
    reject: false,
    stdin: 'ignore',
    cancelSignal: interruption.signal,
  });
  const lines = createInterface({ input: run.all });
  lines.on('line', (line) => say(line));
  const { exitCode } = await run;
  if (interruption.signal.aborted) await askEngine('DELETE', `/containers/${container}?force=1&v=1`);
  goOn();
  return exitCode ?? 1;
}

/** The services of an update first. */
function inOrder(snapshot: Snapshot): [string, ContainerState][] {
  const place = ({ service }: ContainerState) => -['worker', 'app'].indexOf(service);
  return Object.entries(snapshot.containers).sort(
    ([, a], [, b]) => place(a) - place(b) || a.service.localeCompare(b.service),
  );
}

function row(was: ContainerState, now: ContainerState | undefined): string[] {
  const moved = was.reference !== now?.reference;
  const replaced = was.id !== now?.id;
  return [
    was.service,
    short(was.reference),
    moved ? `→ ${short(now?.reference ?? 'gone')}` : '',
    was.id.slice(0, 12),
    replaced ? `→ ${now?.id.slice(0, 12) ?? 'gone'}` : '',
    replaced ? bold('replaced') : now?.startedAt === was.startedAt ? 'untouched' : bold('restarted'),
  ];
}

function short(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** Says what the update came to; false where it is not what it should be. */
function judge(before: Snapshot, after: Snapshot, outage: Outage): boolean {
  const moved = (service: string) => service === 'app' || service === 'worker';
  const others = inOrder(before).filter(([, { service }]) => !moved(service));
  const changed = Object.keys({ ...before.files, ...after.files }).filter(
    (path) => before.files[path]?.text !== after.files[path]?.text,
  );
  const facts: [string, boolean][] = [
    [
      `app answers ${after.version ?? 'nothing'}, worker runs ${after.workerVersion ?? 'nothing'}`,
      after.version === to && after.workerVersion === to,
    ],
    [
      outage.back
        ? `the app was away for ${(outage.awayMs / 1000).toFixed(2)} s (asked every few milliseconds)`
        : 'the app does not answer any more',
      outage.back,
    ],
    [
      `${others.map(([, { service }]) => service).join(', ')} are the very same containers`,
      others.every(([key, was]) => {
        const now = after.containers[key];
        return now?.id === was.id && now.startedAt === was.startedAt;
      }),
    ],
    [
      'data/kept.txt, written before the update, is still there',
      before.kept.onDisk !== null &&
        after.kept.onDisk === before.kept.onDisk &&
        after.kept.served === before.kept.served,
    ],
    [
      `changed on disk: ${changed.join(', ') || 'nothing'}, with its old text in .svc-updater/backup`,
      changed.join() === '.env',
    ],
  ];
  say('', ...facts.map(([sentence, holds]) => (holds ? `  ${sentence}` : bold(`NOT SO: ${sentence}`))));
  return facts.every(([, holds]) => holds);
}

function howToLookAround(instance: Instance): void {
  heading('The instance is left running');
  // What the updater keeps is root's own.
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const compose = `${docker} compose -f compose.prod.yaml`;
  table([
    ['ask it for its version', `curl http://127.0.0.1:${instance.port}/version`],
    ['go to its directory', `cd ${instance.directory}`],
    ['see its containers', `${compose} ps`],
    ['see what the app printed', `${docker} logs ${instance.project}-app-1`],
    ['read the log of the update', `${sudo}cat .svc-updater/last-run.log`],
    ['see the old .env', `${sudo}ls -AR .svc-updater/backup`],
    ['update again: nothing to do', `the command of part 3, with --target ${to}`],
    ['go back: refused', `the command of part 3, with --target ${from}`],
    ['remove everything', 'scripts/demo --remove'],
  ]);
}

/** Removes every trace of a demo, whatever state it is in; false where there was none. */
async function removeAll(): Promise<boolean> {
  const found = await findNamed(name);
  const there = await stat(directory).then(
    () => true,
    () => false,
  );
  await removeNamed(name);
  // Files belong to root where its containers wrote them.
  if (there && process.getuid?.() !== 0) {
    const inside = ['--network', 'none', '-v', `${directory}:/demo`, '--entrypoint', '/bin/rm', updaterImage];
    await execa('docker', ['run', '--rm', ...inside, '-rf', `/demo/${name}`]);
  }
  await rm(directory, { recursive: true, force: true });
  await Promise.all(['db', 'proxy', 'tunnel', 'svc'].map((part) => forget(`${name}/${part}`)));
  return there || found.containers.length > 0;
}

/** Takes a repository's tags out of the registry; what is stored of layers stays there for the next demo. */
async function forget(repository: string): Promise<void> {
  const base = `http://${registry}/v2/${repository}`;
  const listed = await fetch(`${base}/tags/list`).catch(() => undefined);
  if (listed?.status !== 200) return;
  const { tags } = (await listed.json()) as { tags: string[] | null };
  const headers = { Accept: 'application/vnd.docker.distribution.manifest.v2+json' };
  for (const tag of tags ?? []) {
    const found = await fetch(`${base}/manifests/${tag}`, { method: 'HEAD', headers });
    const digest = found.headers.get('docker-content-digest');
    if (digest !== null) await fetch(`${base}/manifests/${digest}`, { method: 'DELETE' });
  }
}

async function linesWith(instance: Instance, file: string, text: string): Promise<string[]> {
  return (await instance.read(file)).split('\n').filter((line) => line.includes(text));
}

function goOn(): void {
  interruption.signal.throwIfAborted();
}

function say(...lines: string[]): void {
  for (const line of lines) console.log(line);
}

function heading(text: string): void {
  say('', bold(text), '');
}

function command(text: string): void {
  say(`${dim('$')} ${bold(text)}`);
}

function table(rows: string[][]): void {
  const width = (text: string) => stripVTControlCharacters(text).length;
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => width(cells[column] ?? ''))),
  );
  for (const cells of rows) {
    const padded = cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)));
    say(`  ${padded.join('  ').trimEnd()}`);
  }
}
