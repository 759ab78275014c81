import type {
  BuildServer,
  FeedProblem,
  JobInTheWay,
  NextRelease,
  PublishedRelease,
  Reason,
  Run,
  RunStep,
  Status,
  ToldRun,
  UpToDate,
} from './status.ts';

/** What somebody who is no admin learns. */
export interface UserStatus {
  version: string;
  updating: boolean;
}

/** An error of svc's, RFC 9457. */
export interface Problem {
  type?: string | undefined;
  title?: string | undefined;
  status: number;
  detail: string;
  reason?: Reason | undefined;
}

export const isForAdmins = (status: Status | UserStatus): status is Status => 'channel' in status;

/**
 * What a server says, as far as it has the shape of today's: it may be an older one or a newer one than who reads, so
 * whatever is missing is filled in, what nobody knows is kept, and words of closed lists may be others.
 * Null where it is no such thing at all.
 */
export function readStatus(value: unknown): Status | UserStatus | null {
  const given = object(value);
  const version = text(given?.version);
  if (given === null || version === null) return null;
  const channel = text(given.channel);
  // Many a program has a version; only svc says whether it is being updated.
  if (channel === null)
    return typeof given.updating === 'boolean' ? { version, updating: given.updating } : null;
  const next = object(given.next);
  const reason = readReason(given.reason);
  return {
    ...given,
    version,
    channel: channel as Status['channel'],
    latest: readRelease(object(given.latest)),
    next: readNext(next),
    upToDate: readUpToDate(given.upToDate),
    updateAvailable: given.updateAvailable === true,
    canUpdate: given.canUpdate === true,
    reason,
    checkedAt: text(given.checkedAt),
    feedError: readFeedProblem(given.feedError),
    preparation: text(given.preparation),
    buildServers: list(given.buildServers).flatMap(readBuildServer),
    manual: list(given.manual).filter((line) => typeof line === 'string'),
    run: readRun(given.run),
    now: text(given.now) ?? '',
    releases: Array.isArray(given.releases)
      ? list(given.releases).flatMap((one) => readRelease(object(one)) ?? [])
      : undefined,
  };
}

/** Null where it is no run. */
export function readToldRun(value: unknown): ToldRun | null {
  const run = readRun(value);
  return run && { ...run, now: text(object(value)?.now) ?? '' };
}

export function readHistory(value: unknown): Run[] | null {
  return Array.isArray(value) ? value.flatMap((one) => readRun(one) ?? []) : null;
}

export function readProblem(value: unknown, status: number): Problem {
  const given = object(value) ?? {};
  const title = text(given.title) ?? undefined;
  return {
    ...given,
    type: text(given.type) ?? undefined,
    title,
    status,
    detail: text(given.detail) ?? title ?? `status ${status}`,
    reason: readReason(given.reason) ?? undefined,
  };
}

function readRun(value: unknown): Run | null {
  const given = object(value);
  return given === null || text(given.id) === null || text(given.state) === null ? null : runOf(given);
}

/** A run of these fields; whatever is missing is filled in. */
export function runOf(given: { [K in keyof Run]?: unknown }): Run {
  const run: Record<keyof Run, unknown> = {
    ...given,
    id: text(given.id),
    state: text(given.state),
    phase: text(given.phase),
    percent: readPercent(given.percent),
    from: text(given.from),
    to: text(given.to),
    startedAt: text(given.startedAt) ?? '',
    endedAt: text(given.endedAt),
    outcome: text(given.outcome),
    message: text(given.message) ?? '',
    cause: text(given.cause),
    code: text(given.code),
    advice: text(given.advice),
    warnings: list(given.warnings).filter((line) => typeof line === 'string'),
    steps: list(given.steps).flatMap(readStep),
    jobs: list(given.jobs).flatMap(readJob),
    until: text(given.until),
    cancelAskedBy: text(given.cancelAskedBy),
    away: typeof given.away === 'number' ? given.away : null,
    log: text(given.log),
    by: text(given.by),
  };
  // Words of closed lists are not checked: who shows them has to have an answer for any.
  return run as unknown as Run;
}

const readPercent = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= 100 ? Math.round(value) : null;

function readStep(value: unknown): RunStep[] {
  const given = object(value);
  const [state, startedAt] = [text(given?.state), text(given?.startedAt)];
  if (given === null || state === null || startedAt === null) return [];
  const message = text(given.message) ?? '';
  return [{ state: state as RunStep['state'], startedAt, endedAt: text(given.endedAt), message }];
}

function readJob(value: unknown): JobInTheWay[] {
  const given = object(value);
  if (given === null) return [];
  return [
    {
      kind: (text(given.kind) ?? 'job') as JobInTheWay['kind'],
      state: given.state === 'queued' ? 'queued' : 'running',
      title: text(given.title),
      since: text(given.since),
      stuck: given.stuck === true,
    },
  ];
}

function readReason(value: unknown): Reason | null {
  const given = object(value);
  const code = text(given?.code);
  if (given === null || code === null) return null;
  return {
    ...given,
    code: code as Reason['code'],
    message: text(given.message) ?? code,
    since: text(given.since) ?? undefined,
    jobs: Array.isArray(given.jobs) ? given.jobs.flatMap(readJob) : undefined,
  };
}

function readNext(given: Fields | null): NextRelease | null {
  const version = text(given?.version);
  return version === null ? null : { version, major: given?.major === true };
}

function readUpToDate(value: unknown): UpToDate | null {
  const given = object(value);
  const code = text(given?.code);
  return code === null
    ? null
    : { code: code as UpToDate['code'], message: text(given?.message) ?? `Nothing is offered: ${code}.` };
}

function readFeedProblem(value: unknown): FeedProblem | null {
  const given = object(value);
  const message = text(given?.message);
  return message === null ? null : { message, nextCheckAt: text(given?.nextCheckAt) ?? '' };
}

function readBuildServer(value: unknown): BuildServer[] {
  const given = object(value);
  const [name, version] = [text(given?.name), text(given?.version)];
  if (name === null || version === null) return [];
  return [{ name, version, behind: given?.behind === true, command: text(given?.command) ?? '' }];
}

function readRelease(given: Fields | null): PublishedRelease | null {
  const version = text(given?.version);
  if (given === null || version === null) return null;
  const [url, notes, publishedAt] = [text(given.url), text(given.notes), text(given.publishedAt)];
  return { version, url, notes, publishedAt };
}

type Fields = Record<string, unknown>;

const object = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
