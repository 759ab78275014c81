import { type InstanceOptions, readOptions } from './contract/options.ts';
import { createHandler } from './http/handler.ts';
import { Updates } from './updates.ts';

export type { Channel, Release } from '../release/channel.ts';
export type { ReasonCode, UpToDateCode } from '../wire/codes.ts';
export type { FeedProblem, NextRelease, Reason, Run, Status, UpToDate } from '../wire/status.ts';
export type {
  Caller,
  ChannelStore,
  InstanceOptions,
  Job,
  JobQueue,
} from './contract/options.ts';
export { openApi } from './http/openapi.ts';

/** The self-update of the instance that this server belongs to. */
export interface InstanceUpdates {
  /** Answers every request under its path; never rejects. */
  handle(request: Request): Promise<Response>;
  /** Whether a request is for it: its path is that of the options or below. */
  matches(request: Request): boolean;
  /** To be awaited before the queue starts jobs: where an update is on, the queue is held until its end. */
  start(): Promise<void>;
  /** For the server's own end: event streams and timers stop; a hold stays, for the next server to go on with. */
  close(): Promise<void>;
}

/** @throws TypeError that names every mistake in the options at once */
export function createInstanceUpdates(options: InstanceOptions): InstanceUpdates {
  const settings = readOptions(options);
  const updates = new Updates(settings);
  return {
    handle: createHandler(updates, settings),
    matches: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === settings.path || pathname.startsWith(`${settings.path}/`);
    },
    start: () => updates.boot(),
    close: () => updates.close(),
  };
}

export type { FeedOptions, LogEntry } from '../feed/feed-options.ts';
