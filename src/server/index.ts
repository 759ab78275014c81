import type { Product, ProductOptions } from '../core/names/product.ts';
import type { InstanceOptions } from './contract/instance-options.ts';
import type { InstanceUpdates } from './contract/instance-updates.ts';
import { validateInstanceOptions } from './contract/validate-options.ts';
import { createUpdateApi } from './create-update-api.ts';
import { createRequestHandler } from './http/handler.ts';
import { createLibraryMethods } from './http/library-methods.ts';

export type { ProgressEvent } from '../core/progress/event.ts';
export type { Channel, Release } from '../core/release/channel.ts';
export type { FeedOptions, LogEntry } from '../feed/create-feed.ts';
export type { Trust } from '../provenance/trust.ts';
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
  Caller,
  InstanceOptions,
  Job,
  JobQueue,
  KnownBuildServer,
  Preparation,
  Store,
} from './contract/instance-options.ts';
export type {
  InstanceUpdates,
  RollbackOrder,
  UpdateEvents,
  UpdateOrder,
} from './contract/instance-updates.ts';
export { type NodeHandler, type NodeRequest, toNodeHandler } from './http/node-handler.ts';
export { openApi } from './http/openapi.ts';
export { type FileStore, fileStore } from './store/file-store.ts';
export type { Product, ProductOptions };

/**
 * Creates the object with all functions of the library (docs/server-library.md).
 * @throws TypeError that lists all invalid options
 */
export function createInstanceUpdates(options: InstanceOptions): InstanceUpdates {
  const settings = validateInstanceOptions(options);
  const updates = createUpdateApi(settings);
  return {
    ...createLibraryMethods(updates, { path: settings.path, name: settings.product.name }),
    handle: createRequestHandler(updates, settings),
    start: updates.boot,
    close: updates.close,
    on: (event, listener) => updates.listeners.on(event, listener),
  };
}
