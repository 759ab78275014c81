import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { Status } from '../../../src/wire/status.ts';
import { askEngine, engineSocket } from '../../rig/engine-api.ts';
import { watchOutage } from '../../rig/outage.ts';
import { updaterImage } from '../../rig/updater-run.ts';
import type { Platform } from '../rig/platform.ts';
import { removeAll } from './clean.ts';
import { compareContainers, judge, lookAt } from './look.ts';
import { bold, command, heading, say, table } from './print.ts';
import { addRow, logIn, setUp } from './set-up.ts';

/** What scripts/demo runs once everything is set up; its argument is `run`, `keep` or `remove`. */

const [mode = 'run'] = process.argv.slice(2);
const name = 'svc-updater-demo';
const directory = join(process.env.STATE ?? '/var/lib/svc-updater-dev', 'demo');
const registry = process.env.REGISTRY ?? '127.0.0.1:5000';
const traces = { name, directory, registry };
const docker = process.env.DEMO_DOCKER ?? 'docker';
const client = fileURLToPath(new URL('../../../dist/svc.mjs', import.meta.url));
const from = 'v1.0.0';
const to = 'v1.1.0';
const bad = 'v1.3.0';
const unsigned = 'v1.1.1';
/** Somebody sits there who may want to click, and to look at it for a while. */
const isWatched = mode === 'run' && process.stdin.isTTY && process.stdout.isTTY && !process.env.CI;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interruption.signal.aborted) say('', `${signal}: cleaning up, a moment`);
    interruption.abort();
  });
}

process.exitCode = await main().catch((error) => {
  if (interruption.signal.aborted) return 130;
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  return 1;
});
// What still listens for a key or to a stream must not keep it from ending.
if (isWatched) process.stdin.pause();

async function main(): Promise<number> {
  const removed = await removeAll(traces);
  if (mode === 'remove') {
    say(removed ? 'removed the platform of the demo' : 'there is nothing to remove');
    return 0;
  }
  if (removed) say('  removed what an earlier demo had left');
  let kept = false;
  try {
    const well = await story();
    kept = mode === 'keep' && !interruption.signal.aborted;
    return well ? 0 : 1;
  } finally {
    if (!kept) {
      await removeAll(traces);
      say('', 'Everything of the demo is removed again. --keep leaves the platform running.');
    }
  }
}

async function story(): Promise<boolean> {
  heading(`1. A platform at ${from}`);
  const { platform, forgeUrl } = await setUp({ ...traces, published: [to] });
  goOn();
  const cookie = await logIn(platform, 'anna');
  for (const row of ['first', 'second', 'third']) await addRow(platform, cookie, row);
  say(
    `Proxy, app, worker and database run in ${platform.directory};`,
    'its .env says',
    ...(await platform.read('.env')).split('\n').filter((line) => line.startsWith('SVC_VERSION')),
    '',
  );
  table([
    ['the dashboard', bold(platform.url)],
    ['log in', 'by one click: as admin (anna), who may update, or as user (ben), who may not'],
    ['its releases', `${forgeUrl}, which stands for GitHub: ${to} is out`],
  ]);
  const before = await lookAt(platform);

  heading('2. What an update would do');
  const planned = await runUpdater(platform, ['plan', '--target', to]);
  if (planned !== 0) throw new Error(`plan ended with exit code ${planned}`);

  heading('3. Downloaded while nobody looks');
  await until(platform, ({ next }) => next?.downloaded === true, `${to} is not downloaded`);
  await runClient(platform, ['status']);

  heading('4. The update');
  const watch = watchOutage(`${platform.url}/healthz`);
  const exitCode = await update(platform).finally(() => watch.stop());
  const outage = await watch.stop();
  const after = await lookAt(platform);

  heading('5. Before and after');
  compareContainers(before, after);
  say(
    '',
    `  svc was away for ${(outage.awayMs / 1000).toFixed(1)} s, two of which this release takes to start; browsers saw the proxy's page`,
  );
  let well = judge(after, to, before) && exitCode === 0;
  if (exitCode !== 0) say('', bold(`The update failed with exit code ${exitCode}: see above.`));

  heading('6. A rollback, with the data');
  await addRow(platform, cookie, 'fourth');
  say(`After another row, an admin does not like ${to}, and rolls back:`, '');
  const rollbackCode = await runClient(platform, ['rollback', '--yes']);
  well = judge(await lookAt(platform), from, before) && rollbackCode === 0 && well;
  say('', 'No command undoes a rollback. To get the newer version, update again:', '');
  const againCode = await runClient(platform, ['update', '--yes']);
  well = judge(await lookAt(platform), to, before) && againCode === 0 && well;

  heading('7. A bad release');
  for (const version of [unsigned, bad])
    await fetch(`${forgeUrl}/publish?version=${version}`, { method: 'POST' });
  const status = await until(platform, ({ latest }) => latest?.version === bad, `${bad} is not offered`);
  const told = status.feedError?.message ?? 'nothing is said of it';
  const isRefused = told.startsWith(`${unsigned} is not verified`);
  const sentence = `${unsigned}, which somebody has put on the forge, is not offered: ${told}`;
  say(isRefused ? `  ${sentence}` : bold(`NOT SO: ${sentence}`), '');
  well = isRefused && well;
  say(`${bad} is out, which does not start. Nobody does anything about it:`, '');
  const badCode = await runClient(platform, ['update']);
  well = judge(await lookAt(platform), to, before) && badCode !== 0 && well;

  if (mode === 'keep') howToLookAround(platform, forgeUrl);
  if (isWatched) await stay(platform, forgeUrl);
  return well;
}

/** By a click of whoever watches, else by the client; followed to its end. Gives the client's exit code. */
async function update(platform: Platform): Promise<number> {
  const clicked = isWatched && (await waitForClick(platform));
  return runClient(platform, [clicked ? 'follow' : 'update']);
}

/** Its output straight to this one. Gives its exit code. */
async function runClient(platform: Platform, args: readonly string[]): Promise<number> {
  command(`SVC_URL=${platform.url} SVC_TOKEN=… svc instance ${args.join(' ')}`);
  const { exitCode } = await execa(process.execPath, [client, 'instance', ...args], {
    env: { SVC_URL: platform.url, SVC_TOKEN: platform.apiToken },
    stdio: ['ignore', 'inherit', 'inherit'],
    reject: false,
    cancelSignal: interruption.signal,
  });
  goOn();
  return exitCode ?? 1;
}

/** The feed is read again, which a server does every ten seconds at most. */
async function until(platform: Platform, isSo: (status: Status) => boolean, sorry: string): Promise<Status> {
  const headers = { authorization: `Bearer ${platform.apiToken}` };
  for (let tries = 0; tries < 120; tries++) {
    const answer = await fetch(`${platform.url}/api/v1/instance/update?refresh=1`, { headers }).catch(
      () => null,
    );
    const status = answer?.ok ? ((await answer.json()) as Status) : null;
    if (status !== null && isSo(status)) return status;
    await sleep(500);
    goOn();
  }
  throw new Error(sorry);
}

/** True once somebody has clicked Update now, false once they press Enter here instead. */
async function waitForClick(platform: Platform): Promise<boolean> {
  say(
    `Log in as admin at ${bold(platform.url)} and click ${bold('Update now')},`,
    'or press Enter, and it is done from here.',
  );
  const entered = pressed();
  for (;;) {
    if (await Promise.race([entered, sleep(300, false)])) return false;
    goOn();
    const headers = { authorization: `Bearer ${platform.apiToken}` };
    const answer = await fetch(`${platform.url}/api/v1/instance/update`, { headers }).catch(() => null);
    if (answer?.ok && ((await answer.json()) as Status).run !== null) return true;
  }
}

/** True once Enter is pressed. */
function pressed(): Promise<true> {
  const lines = createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    const end = () => {
      lines.close();
      resolve(true);
    };
    lines.once('line', end);
    interruption.signal.addEventListener('abort', end);
  });
}

async function stay(platform: Platform, forgeUrl: string): Promise<void> {
  heading('Look around');
  say(
    `The platform is yours: ${bold(platform.url)}. Publish its next releases at ${forgeUrl}:`,
    'two are not signed by its publisher, one was never pushed, two do not start, so svc rolls back,',
    'one is a major version.',
    'Press Enter to remove everything.',
  );
  await pressed();
}

/** Runs the updater the way an operator does, its log straight to this output. Gives its exit code. */
async function runUpdater(platform: Platform, args: readonly string[]): Promise<number> {
  // An updater of somebody's own instance may be at work on this engine.
  const taken = (await askEngine('GET', '/containers/svc-updater/json')).status !== 404;
  const container = taken ? `${name}-run` : 'svc-updater';
  const parts = [
    ['docker', 'run', '--rm', '--name', container, '--stop-timeout', '120'],
    ['-v', `${engineSocket}:/var/run/docker.sock`],
    ['-v', `${platform.directory}:${platform.directory}`],
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

function howToLookAround(platform: Platform, forgeUrl: string): void {
  heading('The platform is left running');
  // What the updater keeps is root's own.
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const compose = `${docker} compose`;
  table([
    ['the dashboard', platform.url],
    ['publish its next releases', forgeUrl],
    ['go to its directory', `cd ${platform.directory}`],
    ['see its containers', `${compose} ps`],
    ['see what the app printed', `${docker} logs ${platform.project}-app-1`],
    ['read the log of the bad release', `${docker} logs ${name}-svc-updater`],
    ['see the old files', `${sudo}ls -AR .svc-updater/backup`],
    ['update by hand: nothing to do', `the command of part 2, with --target ${to} and without plan`],
    ['downgrade by hand: refused', `the same, with --target ${from}`],
    ['remove everything', 'scripts/demo --remove'],
  ]);
}

function goOn(): void {
  interruption.signal.throwIfAborted();
}
