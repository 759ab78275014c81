import type { Product, ProductOptions } from '../progress/product.ts';
import { isTarget } from '../release/channel.ts';
import type { InstanceUpdates } from './contract/instance-updates.ts';
import { type InstanceOptions, readOptions } from './contract/options.ts';
import { destinationOf } from './http/endpoints.ts';
import { createHandler } from './http/handler.ts';
import { Updates } from './updates.ts';

export type { FeedOptions, LogEntry } from '../feed/feed.ts';
export type { ProgressEvent } from '../progress/event.ts';
export type { Trust } from '../provenance/trust.ts';
export type { Channel, Release } from '../release/channel.ts';
export type { CancelCode, EndState, JobKind, ReasonCode, RunState, UpToDateCode } from '../wire/codes.ts';
export type {
  Automatic,
  BlockedBy,
  BlockingJob,
  BuildServer,
  CancelReason,
  FeedProblem,
  NextRelease,
  PendingStep,
  PublishedRelease,
  Reason,
  RestorePoint,
  RollbackOffer,
  RolledBack,
  Run,
  RunStep,
  Skipped,
  Status,
  ToldRun,
  UpToDate,
} from '../wire/status.ts';
export type {
  InstanceUpdates,
  RollbackOrder,
  UpdateEvents,
  UpdateOrder,
} from './contract/instance-updates.ts';
export type {
  Caller,
  InstanceOptions,
  Job,
  JobQueue,
  KnownBuildServer,
  Preparation,
  Store,
} from './contract/options.ts';
export { type NodeHandler, type NodeRequest, toNodeHandler } from './http/node-handler.ts';
export { openApi } from './http/openapi.ts';
export { type FileStore, fileStore } from './store/file-store.ts';
export type { Product, ProductOptions };

/** Creates the library object (docs/server-library.md). @throws TypeError that lists all invalid options */
export function createInstanceUpdates(options: InstanceOptions): InstanceUpdates {
  const settings = readOptions(options);
  const { name } = settings.product;
  const updates = new Updates(settings);
  const refuseBoth = (when: 'now' | 'idle', force: boolean) => {
    if (when === 'idle' && force)
      throw new TypeError(`${name}-updater: when: "idle" and force cannot be combined`);
  };
  return {
    handle: createHandler(updates, settings),
    matches: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === settings.path || pathname.startsWith(`${settings.path}/`);
    },
    start: () => updates.boot(),
    close: () => updates.close(),
    status: (asked) => updates.status(asked),
    update: async ({ target, allSteps, when = 'now', force = false, by = name } = {}) => {
      if (target !== undefined && !isTarget(target)) {
        throw new TypeError(
          `${name}-updater: the target ${target} must be vX.Y.Z, vX.Y.Z-canary.N or canary`,
        );
      }
      refuseBoth(when, force);
      return updates.start({ ...destinationOf({ target, allSteps }), when, force, by });
    },
    rollbackOffer: () => updates.rollbackOffer(),
    rollback: async ({ confirm, when = 'now', force = false, by = name }) => {
      refuseBoth(when, force);
      return updates.rollback({ confirm, when, force, by });
    },
    cancel: ({ by = name } = {}) => updates.cancel(by),
    setChannel: (channel) => updates.setChannel(channel),
    skip: (version) => updates.skip(version),
    setAutomatic: (choice) => updates.setAutomatic(choice),
    history: () => updates.history(),
    on: (event, listener) => updates.listeners.on(event, listener),
  };
}
