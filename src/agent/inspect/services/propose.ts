import { isDatabase } from '../../../compose/reference.ts';
import type { ModelService } from '../../../engine/cli/compose.ts';
import { bondOf, type ServiceImage, shown } from './together.ts';

/** Says for all that belongs to the app. */
export const leaveAll = '*';

/** A service that runs, with what tells whether people use it. */
export interface Candidate extends ServiceImage {
  /** As compose has it. */
  model: ModelService;
  hasHealthCheck: boolean;
}

export interface Proposal {
  app: Candidate;
  /** What moves with it. */
  workers: readonly Candidate[];
  /** Every other service, and what it runs. */
  others: readonly Candidate[];
}

/**
 * Which services are to be updated together, and which of them is the app: of those that are no database, the ones that
 * people reach and that stand on others. Null where there is none.
 * @param leave names of services that stay behind, or `*` for all but the app
 */
export function proposeServices(
  candidates: readonly Candidate[],
  project: string,
  leave: readonly string[] = [],
): Proposal | null {
  const able = candidates.filter(({ reference }) => !isDatabase(reference)).toSorted(compare);
  const groups = able.map((first) => [
    first,
    ...able.filter((each) => each !== first && bondOf(first, each) !== null),
  ]);
  const ranked = groups
    .map((group) => ({ group, score: scoreOf(group, candidates, project) }))
    .toSorted((a, b) => b.score - a.score);
  const best = ranked[0]?.group;
  if (best === undefined) return null;
  // A settings file that has one service in both of its lists would be refused by the next run.
  const stays = ({ name }: Candidate) => leave.includes(name);
  const app = best
    .filter((each) => !stays(each))
    .toSorted((a, b) => appScore(b, best) - appScore(a, best) || compare(a, b))[0];
  if (app === undefined) return null;
  const bound = able.filter((each) => each !== app && !stays(each) && bondOf(app, each) !== null);
  const workers = leave.includes(leaveAll) ? [] : bound.toSorted(compare);
  const moved = [app, ...workers];
  return { app, workers, others: candidates.filter((each) => !moved.includes(each)).toSorted(compare) };
}

const compare = (a: Candidate, b: Candidate): number => a.name.localeCompare(b.name);

/** What stands before, beside or around an app, as its name says, and is none. */
const around =
  /(?:^|[-_/])(?:nginx|traefik|caddy|haproxy|envoy|swag|proxy|cloudflared|tailscale|watchtower|autoheal|certbot|exporter|backup|mailhog|mailpit|adminer|pgadmin\d*|phpmyadmin|dind|socket-proxy)(?:$|[-_])/;
const first = /^(?:app|server|web|webserver|www|main|core)$/;
const behind = /work|cron|sched|queue|jobs?\b|sidekiq|celery|beat|machine|learning|runner|migrat|init/;

const isReached = ({ model }: Candidate): boolean =>
  (model.ports ?? []).length > 0 || model.network_mode === 'host';

function scoreOf(group: readonly Candidate[], all: readonly Candidate[], project: string): number {
  const names = group.map(({ name }) => name);
  const outside = (list: readonly Candidate[]) => list.filter(({ name }) => !names.includes(name));
  const needs = (each: Candidate) => Object.keys(each.model.depends_on ?? {});
  const standsOn = outside(all).filter(({ name }) => group.some((each) => needs(each).includes(name)));
  const carries = outside(all).some((each) => needs(each).some((name) => names.includes(name)));
  const isAround = group.every(({ name, reference }) =>
    [name, reference.repository.split('/').at(-1) ?? ''].some((word) => around.test(word)),
  );
  const says = group.some(
    ({ name, reference }) => name === project || reference.repository.split('/').at(-1) === project,
  );
  return (
    (isAround ? -20 : 0) +
    (standsOn.some(({ reference }) => isDatabase(reference)) ? 6 : 0) +
    (standsOn.length > 0 ? 2 : 0) +
    (group.some(isReached) ? 4 : 0) +
    (group.some(({ name }) => first.test(name)) ? 2 : 0) +
    (says ? 2 : 0) +
    (group.length > 1 ? 2 : 0) +
    (group.some(({ hasHealthCheck }) => hasHealthCheck) ? 1 : 0) +
    (carries ? -1 : 0)
  );
}

function appScore(each: Candidate, group: readonly Candidate[]): number {
  const carries = group.some((other) => each.name in (other.model.depends_on ?? {}));
  return (
    (isReached(each) ? 4 : 0) +
    (first.test(each.name) ? 2 : 0) +
    (/server|web|app/.test(each.name) ? 1 : 0) +
    (carries ? 1 : 0) +
    (each.hasHealthCheck ? 1 : 0) +
    (behind.test(each.name) ? -3 : 0)
  );
}

/** `server (ghcr.io/acme/server:2.0.1)` */
export const describeCandidate = ({ name, reference }: ServiceImage): string =>
  `${name} (${shown(reference)})`;
