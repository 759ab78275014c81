import { type Container, toContainer } from '../../../src/engine/objects/container.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';

/** A container as the engine reports it. */
export function details(
  // biome-ignore lint/suspicious/noExplicitAny: part of the engine's response
  raw: Record<string, any> = {},
  more: Partial<Container> = {},
): Container {
  const whole = {
    Id: 'c'.repeat(64),
    Name: '/svc-app-1',
    Created: '2026-11-21T10:00:00.123456789Z',
    ...raw,
    State: { FinishedAt: '0001-01-01T00:00:00Z', ...raw.State },
  };
  return { ...toContainer(whole), ...more };
}

/** Only the required options, and a log that discards everything. */
export const plainOptions: InstanceOptions = {
  version: 'v1.4.2',
  updaterImage: 'acme/svc-updater:v1.0.0',
  feed: null,
  authorize: () => null,
  queue: { hold: () => {}, resume: () => {}, jobs: () => [] },
  store: { get: () => null, set: () => true },
  log: () => {},
};
