import type { Run } from '../wire/status.ts';

/**
 * Attributes of the elements. The manifest of the elements, the JSX types and the elements themselves use this list.
 */
export const attributes = {
  base: {
    type: 'string',
    description: 'Path of the endpoints. Elements with the same path share their requests',
  },
  admin: { type: 'boolean', description: 'Show the admin view; grants no permissions' },
  version: { type: 'string', description: 'Version that rendered the page' },
  'keep-title': { type: 'boolean', description: 'Do not change the title of the tab' },
  'settings-url': { type: 'string', description: 'Page with the channel and the automatic updates' },
  'dump-url': { type: 'string', description: 'Page that explains how to back up the data' },
} as const;

export const tags = {
  'svc-update-notice': {
    description: 'The running version, and for admins a button that opens the dialog',
    attributes: ['base', 'admin', 'version', 'keep-title', 'settings-url', 'dump-url'],
  },
  'svc-update-dialog': {
    description: 'Starts an update and shows its progress and its result',
    attributes: ['base', 'keep-title', 'settings-url', 'dump-url'],
  },
  'svc-update-channel': {
    description: 'The choice of the release channel, for a settings page',
    attributes: ['base', 'keep-title'],
  },
  'svc-update-settings': {
    description: 'The channel and the automatic updates, for a settings page',
    attributes: ['base', 'keep-title'],
  },
} as const;

/** Events of the elements. They bubble up to `document`. */
export interface ElementEvents {
  'svc-update-start': CustomEvent<{ run: Run }>;
  'svc-update-end': CustomEvent<{ run: Run }>;
  'svc-update-reload': CustomEvent<{ run: Run; version: string }>;
}

export const elementEvents: Readonly<Record<keyof ElementEvents, string>> = {
  'svc-update-start': 'The page sees a run in progress for the first time',
  'svc-update-end': 'The run has ended',
  'svc-update-reload': 'The page is about to reload with the new version; `preventDefault()` prevents it',
};

/** Attributes and events of an element in JSX. */
export type TagProps<T extends keyof typeof tags> = {
  [A in (typeof tags)[T]['attributes'][number]]?:
    | { string: string; boolean: boolean }[(typeof attributes)[A]['type']]
    | undefined;
} & { [E in keyof ElementEvents as `on${E}`]?: ((event: ElementEvents[E]) => void) | undefined };
