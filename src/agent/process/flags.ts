import type { FlagKind } from './read-flags.ts';

/** Which instance it is, and what is its own. */
const instanceFlags: Record<string, FlagKind> = {
  project: 'text',
  dir: 'text',
  service: 'list',
  leave: 'list',
  'version-var': 'text',
  'wait-timeout': 'text',
  'pull-timeout': 'text',
  log: 'text',
};

export const updateFlags: Record<string, FlagKind> = {
  ...instanceFlags,
  target: 'text',
  container: 'text',
  'accept-drift': 'flag',
};

export const initFlags: Record<string, FlagKind> = {
  ...instanceFlags,
  'dry-run': 'flag',
  force: 'flag',
};

export const bumpFlags: Record<string, FlagKind> = {
  dir: 'text',
  file: 'list',
  'env-file': 'list',
  to: 'text',
  service: 'list',
  digest: 'text',
  'dry-run': 'flag',
  log: 'text',
};

/** By option; of lists, separated by commas. */
export const variables: Record<string, string> = {
  target: 'SVC_UPDATER_TARGET',
  project: 'SVC_UPDATER_PROJECT',
  dir: 'SVC_UPDATER_DIR',
  container: 'SVC_UPDATER_CONTAINER',
  service: 'SVC_UPDATER_SERVICES',
  leave: 'SVC_UPDATER_LEAVE',
  'version-var': 'SVC_UPDATER_VERSION_VAR',
  'wait-timeout': 'SVC_UPDATER_WAIT_TIMEOUT',
  'pull-timeout': 'SVC_UPDATER_PULL_TIMEOUT',
  'accept-drift': 'SVC_UPDATER_ACCEPT_DRIFT',
  log: 'SVC_UPDATER_LOG',
};

/** What a settings file may say: what is the instance's own, and not of one run. */
export const settingNames = [
  'service',
  'leave',
  'version-var',
  'wait-timeout',
  'pull-timeout',
  'file',
] as const;
