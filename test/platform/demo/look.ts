import { type ContainerState, containerStates } from '../../rig/snapshot.ts';
import type { Platform } from '../rig/platform.ts';
import { bold, say, table } from './print.ts';

/** The state of the platform. test/e2e/platform.test.ts checks it more strictly. */
export interface Look {
  version: string | null;
  containers: Record<string, ContainerState>;
  rows: string[];
}

export async function lookAt(platform: Platform): Promise<Look> {
  const { containers } = await containerStates(platform.project, platform.name);
  const health = await fetch(`${platform.url}/healthz`).catch(() => null);
  const rows = await platform.sql('SELECT id, name, made_at FROM item ORDER BY id');
  return { version: health?.ok ? (await health.text()).trim() : null, containers, rows: rows.split('\n') };
}

/** Prints a table with the updated services first. */
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
    replaced ? bold('replaced') : now?.startedAt === was.startedAt ? 'unchanged' : bold('restarted'),
  ];
}

function short(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** Checks and prints whether the app runs a version with the database rows of an earlier state. */
export function judge(now: Look, version: string, { rows }: Look): boolean {
  const holds = now.version === version && now.rows.join('\n') === rows.join('\n');
  const sentence = `${version} is running with all ${rows.length} rows of the database`;
  say('', holds ? `  ${sentence}` : bold(`NOT TRUE: ${sentence}`));
  return holds;
}
