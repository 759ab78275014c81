import type { Outage } from '../../rig/outage.ts';
import { type ContainerState, containerStates, type FileState, fileStates } from '../../rig/snapshot.ts';
import type { Platform } from '../rig/platform.ts';
import { bold, say, table } from './print.ts';

/** The platform at one moment. */
export interface Look {
  version: string | null;
  containers: Record<string, ContainerState>;
  files: Record<string, FileState>;
  rows: string[];
  columns: string[];
  /** Whether the login that was made at the start is one still. */
  isLoggedIn: boolean;
}

export async function lookAt(platform: Platform, cookie: string): Promise<Look> {
  const { containers } = await containerStates(platform.project, platform.name);
  const page = await fetch(`${platform.url}/data`, { headers: { cookie }, redirect: 'manual' }).catch(
    () => null,
  );
  const health = await fetch(`${platform.url}/healthz`).catch(() => null);
  const lines = async (query: string) => (await platform.sql(query)).split('\n');
  const files = Object.entries(await fileStates(platform.directory));
  return {
    version: health?.ok ? (await health.text()).trim() : null,
    containers,
    files: Object.fromEntries(files),
    rows: await lines('SELECT id, name, made_at FROM item ORDER BY id'),
    columns: await lines("SELECT column_name FROM information_schema.columns WHERE table_name = 'item'"),
    isLoggedIn: page?.status === 200,
  };
}

/** The services of an update first. */
export function compareContainers(before: Look, after: Look): void {
  table([
    ['service', 'image', '', 'container', '', ''],
    ...inOrder(before).map(([key, was]) => row(was, after.containers[key])),
  ]);
}

function inOrder({ containers }: Look): [string, ContainerState][] {
  const place = ({ service }: ContainerState) => -['worker', 'app'].indexOf(service);
  return Object.entries(containers).sort(
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

/** A restore point stops the database. */
const isStopped = ({ service }: ContainerState): boolean => service === 'db';

/** Says what the update came to; false where it is not what it should be. */
export function judge(before: Look, after: Look, { to, outage }: { to: string; outage: Outage }): boolean {
  const moved = (service: string) => service === 'app' || service === 'worker';
  const others = inOrder(before).filter(([, { service }]) => !moved(service));
  const replaced = Object.values(after.containers).filter(({ service }) => moved(service));
  const changed = Object.keys({ ...before.files, ...after.files }).filter(
    (path) => before.files[path]?.text !== after.files[path]?.text,
  );
  const facts: [string, boolean][] = [
    [
      `app answers ${after.version ?? 'nothing'}, and app and worker run its image`,
      after.version === to && replaced.every(({ reference }) => reference.endsWith(`:${to}`)),
    ],
    [
      outage.back
        ? `svc was away for ${(outage.awayMs / 1000).toFixed(1)} s, two of which this release takes to start; browsers saw the proxy's page`
        : 'svc does not answer any more',
      outage.back,
    ],
    [
      `${others.map(([, { service }]) => service).join(' and ')} are the very same containers`,
      others.every(([key, was]) => {
        const now = after.containers[key];
        return now?.id === was.id && (now.startedAt === was.startedAt || isStopped(was));
      }),
    ],
    [
      `the database has its ${before.rows.length} rows, and a new column: ${after.columns.filter((name) => !before.columns.includes(name)).join() || 'none'}`,
      after.rows.join('\n') === before.rows.join('\n') && after.columns.includes('made_by'),
    ],
    ['whoever was logged in still is', before.isLoggedIn && after.isLoggedIn],
    [
      `changed on disk: ${changed.join(', ') || 'nothing'}, with the old texts in .svc-updater/backup`,
      changed.sort().join() === '.env,compose.yaml',
    ],
  ];
  say('', ...facts.map(([sentence, holds]) => (holds ? `  ${sentence}` : bold(`NOT SO: ${sentence}`))));
  return facts.every(([, holds]) => holds);
}

/** Says whether the platform is as it was, where containers of app and worker were made again; false where it is not. */
export function judgeSame(was: Look, now: Look, words: string): boolean {
  const images = ({ containers }: Look) =>
    Object.values(containers).map(({ service, reference }) => `${service} ${reference}`);
  const texts = ({ files }: Look) => Object.entries(files).map(([path, { text }]) => [path, text]);
  const others = ({ containers }: Look) =>
    Object.values(containers).flatMap((one) =>
      ['app', 'worker'].includes(one.service)
        ? []
        : [[one.service, one.id, !isStopped(one) && one.startedAt]],
    );
  const facts = ({ version, rows, columns, isLoggedIn }: Look) => [version, rows, columns, isLoggedIn];
  const state = (look: Look) => [facts(look), images(look).sort(), texts(look).sort(), others(look).sort()];
  const [before, after] = [state(was), state(now)].map((each) => each.map((part) => JSON.stringify(part)));
  const holds = before?.join() === after?.join() && now.isLoggedIn;
  const sentence = `${now.version ?? 'nothing'} answers, its ${now.rows.length} rows, columns, files and logins are ${words}`;
  say('', holds ? `  ${sentence}` : bold(`NOT SO: ${sentence}`));
  return holds;
}
