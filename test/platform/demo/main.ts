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
import { changeChannel, publish } from './publish.ts';
import { addRow, logIn, setUp } from './set-up.ts';

/** Started by scripts/demo after the setup; its argument is `run`, `keep` or `remove`. */

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
const recalled = 'v1.4.0';
const fixed = 'v1.4.1';
/** Whether a person may be watching, clicking and looking around. */
const isWatched = mode === 'run' && process.stdin.isTTY && process.stdout.isTTY && !process.env.CI;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interruption.signal.aborted) say('', `${signal}: cleaning up…`);
    interruption.abort();
  });
}

process.exitCode = await main().catch((error) => {
  if (interruption.signal.aborted) return 130;
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  return 1;
});
// An open stdin would keep the process from exiting.
if (isWatched) process.stdin.pause();

async function main(): Promise<number> {
  const removed = await removeAll(traces);
  if (mode === 'remove') {
    say(removed ? 'The demo platform has been removed.' : 'There is nothing to remove.');
    return 0;
  }
  if (removed) say('  removed the remains of an earlier demo');
  let keepsRunning = false;
  try {
    const isSuccessful = await story();
    keepsRunning = mode === 'keep' && !interruption.signal.aborted;
    return isSuccessful ? 0 : 1;
  } finally {
    if (!keepsRunning) {
      await removeAll(traces);
      say('', 'The demo has been removed. Use --keep to leave the platform running.');
    }
  }
}

async function story(): Promise<boolean> {
  heading(`1. A platform running ${from}`);
  const { platform, forgeUrl } = await setUp({ ...traces, published: [to] });
  stopIfInterrupted();
  const cookie = await logIn(platform, 'anna');
  for (const row of ['first', 'second', 'third']) await addRow(platform, cookie, row);
  say(
    `The directory ${platform.directory} contains the compose file for proxy, app, worker and database.`,
    'Its .env contains this version:',
    ...(await platform.read('.env')).split('\n').filter((line) => line.startsWith('SVC_VERSION')),
    '',
  );
  table([
    ['dashboard', bold(platform.url)],
    ['log in', 'with one click: as admin (anna), who can update, or as user (ben), who cannot'],
    ['releases', `${forgeUrl}, a stand-in for GitHub, which has published ${to}`],
  ]);
  const before = await lookAt(platform);

  heading('2. A dry run of the update');
  const planned = await runUpdater(platform, ['plan', '--target', to]);
  if (planned !== 0) throw new Error(`svc-updater plan failed with exit code ${planned}`);

  heading('3. The release is downloaded in advance');
  await until(
    platform,
    ({ next }) => next?.downloaded === true,
    `timed out waiting for the download of ${to}`,
  );
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
    `  svc was unavailable for ${(outage.awayMs / 1000).toFixed(1)} s. Two of these seconds are the start of this release. Browsers saw the page of the proxy.`,
  );
  let isSuccessful = judge(after, to, before) && exitCode === 0;
  if (exitCode !== 0) say('', bold(`The update failed with exit code ${exitCode}. See the output above.`));

  heading('6. A rollback that restores the data');
  await addRow(platform, cookie, 'fourth');
  say(`An admin adds a row, and then rolls back from ${to}:`, '');
  const rollbackCode = await runClient(platform, ['rollback', '--yes']);
  isSuccessful = judge(await lookAt(platform), from, before) && rollbackCode === 0 && isSuccessful;
  say('', 'A rollback cannot be undone. To install the newer version, update again:', '');
  const againCode = await runClient(platform, ['update', '--yes']);
  isSuccessful = judge(await lookAt(platform), to, before) && againCode === 0 && isSuccessful;

  heading('7. A broken release');
  for (const version of [unsigned, bad]) await publish(forgeUrl, version);
  const status = await until(
    platform,
    ({ latest }) => latest?.version === bad,
    `timed out waiting for ${bad} to be offered`,
  );
  const told = status.feedError?.message ?? 'the server does not report it';
  const isRefused = told.startsWith(`${unsigned} is not verified`);
  const sentence = `${unsigned} was published on the forge without a signature, so it is not offered: ${told}`;
  say(isRefused ? `  ${sentence}` : bold(`NOT TRUE: ${sentence}`), '');
  isSuccessful = isRefused && isSuccessful;
  say(`${bad} does not start. A rehearsal on a copy of the data finds this, while svc keeps running:`, '');
  const during = watchOutage(`${platform.url}/healthz`);
  const rehearsed = await runUpdater(platform, ['rehearse', '--target', bad]).finally(() => during.stop());
  const { awayMs } = await during.stop();
  say('', `  During the rehearsal, svc did not respond for ${(awayMs / 1000).toFixed(1)} s.`, '');
  isSuccessful = judge(await lookAt(platform), to, before) && rehearsed === 4 && isSuccessful;
  say('Without a rehearsal, the update is rolled back automatically:', '');
  const badCode = await runClient(platform, ['update']);
  isSuccessful = judge(await lookAt(platform), to, before) && badCode !== 0 && isSuccessful;

  heading('8. A release that is recalled');
  say(`The publisher recalls ${bad}, and publishes ${recalled} to 10 % of all instances:`, '');
  await changeChannel(directory, ['recall', bad, '--why', 'It does not start without MAIL_FROM.']);
  await changeChannel(directory, ['rollout', recalled, '10']);
  await publish(forgeUrl, recalled);
  await until(
    platform,
    ({ next }) => next?.version === recalled,
    `timed out waiting for ${recalled} to be offered`,
  );
  say('An admin checks again, so the release is offered to this instance in any case:', '');
  const earlyCode = await runClient(platform, ['update', '--yes']);
  isSuccessful = judge(await lookAt(platform), recalled, before) && earlyCode === 0 && isSuccessful;
  say('', `The publisher finds out that ${recalled} is bad:`, '');
  const why = 'It deletes old rows of the database at night.';
  await changeChannel(directory, ['recall', recalled, '--why', why]);
  await until(
    platform,
    (status) => status.recalled?.why === why,
    `timed out waiting for the recall of ${recalled}`,
  );
  await runClient(platform, ['status']);
  say('', 'The dashboard shows the same, with a button to roll back. On a shell:', '');
  const outCode = await runClient(platform, ['rollback', '--yes']);
  isSuccessful = judge(await lookAt(platform), to, before) && outCode === 0 && isSuccessful;

  heading('9. A security update');
  say('Automatic updates are installed at night, if a release is three days old. It is night now:', '');
  await runClient(platform, ['automatic', ...nightFrom(new Date()), '--min-age', '72']);
  say('', `${fixed} is a security update, so it is installed the night it is published:`, '');
  const stolen = 'Sessions of other users can be stolen.';
  await changeChannel(directory, ['urgent', fixed, '--why', stolen]);
  await publish(forgeUrl, fixed);
  await until(
    platform,
    ({ run }) => run?.by === 'automatic' && run.to === fixed,
    `timed out waiting for the automatic update to ${fixed}`,
  );
  const fixCode = await runClient(platform, ['follow']);
  isSuccessful = judge(await lookAt(platform), fixed, before) && fixCode === 0 && isSuccessful;

  if (mode === 'keep') howToLookAround(platform, forgeUrl);
  if (isWatched) await stay(platform, forgeUrl);
  return isSuccessful;
}

/** The options of a time window that has just begun. */
function nightFrom(now: Date): string[] {
  const clock = (date: Date) => date.toISOString().slice(11, 16);
  const later = new Date(now.getTime() + 2 * 3_600_000);
  return ['--from', clock(now), '--to', clock(later), '--time-zone', 'UTC'];
}

/** Follows an update started by a click, or starts one with the client. @returns the exit code of the client */
async function update(platform: Platform): Promise<number> {
  const clicked = isWatched && (await waitForClick(platform));
  return runClient(platform, [clicked ? 'follow' : 'update']);
}

/** Inherits the output. @returns the exit code */
async function runClient(platform: Platform, args: readonly string[]): Promise<number> {
  command(`SVC_URL=${platform.url} SVC_TOKEN=… svc instance ${args.join(' ')}`);
  const { exitCode } = await execa(process.execPath, [client, 'instance', ...args], {
    env: { SVC_URL: platform.url, SVC_TOKEN: platform.apiToken },
    stdio: ['ignore', 'inherit', 'inherit'],
    reject: false,
    cancelSignal: interruption.signal,
  });
  stopIfInterrupted();
  return exitCode ?? 1;
}

/** Polls the status and has the feed read again, which a server does at most every ten seconds. */
async function until(
  platform: Platform,
  isReached: (status: Status) => boolean,
  timeoutMessage: string,
): Promise<Status> {
  const headers = { authorization: `Bearer ${platform.apiToken}` };
  for (let tries = 0; tries < 240; tries++) {
    const answer = await fetch(`${platform.url}/api/v1/instance/update?refresh=1`, { headers }).catch(
      () => null,
    );
    const status = answer?.ok ? ((await answer.json()) as Status) : null;
    if (status !== null && isReached(status)) return status;
    await sleep(500);
    stopIfInterrupted();
  }
  throw new Error(timeoutMessage);
}

/** True after a click on Update now, false after Enter was pressed here instead. */
async function waitForClick(platform: Platform): Promise<boolean> {
  say(
    `Log in as admin at ${bold(platform.url)} and click ${bold('Update now')},`,
    'or press Enter to start the update from here.',
  );
  const entered = pressed();
  for (;;) {
    if (await Promise.race([entered, sleep(300, false)])) return false;
    stopIfInterrupted();
    const headers = { authorization: `Bearer ${platform.apiToken}` };
    const answer = await fetch(`${platform.url}/api/v1/instance/update`, { headers }).catch(() => null);
    if (answer?.ok && ((await answer.json()) as Status).run !== null) return true;
  }
}

/** Waits for Enter. */
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
    `The dashboard is at ${bold(platform.url)}. You can publish a major version at ${forgeUrl}.`,
    'Press Enter to remove everything.',
  );
  await pressed();
}

/** Runs the updater like an operator and prints its log. @returns the exit code */
async function runUpdater(platform: Platform, args: readonly string[]): Promise<number> {
  // Another instance on this engine may be updating.
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
  stopIfInterrupted();
  return exitCode ?? 1;
}

function howToLookAround(platform: Platform, forgeUrl: string): void {
  heading('The platform is still running');
  // The state of the updater belongs to root.
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const compose = `${docker} compose`;
  table([
    ['dashboard', platform.url],
    ['publish a major version', forgeUrl],
    ['open its directory', `cd ${platform.directory}`],
    ['list its containers', `${compose} ps`],
    ['read the log of the app', `${docker} logs ${platform.project}-app-1`],
    ['read the log of the last update', `${docker} logs ${name}-svc-updater`],
    ['list the backed-up files', `${sudo}ls -AR .svc-updater/backup`],
    ['update manually (nothing to do)', `the command of step 2, without "plan" and with --target ${fixed}`],
    ['downgrade manually (refused)', `the same command with --target ${from}`],
    ['remove everything', 'scripts/demo --remove'],
  ]);
}

function stopIfInterrupted(): void {
  interruption.signal.throwIfAborted();
}
