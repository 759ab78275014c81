import type { RowOfRun } from '../wire/phase-rows.ts';
import type { Order, RollbackOrder } from '../wire/reader.ts';
import type { BuildServer, OfferedSetting, PublishedRelease, Run } from '../wire/status.ts';

/** A state of an instance as texts and actions, which the page renders and the client prints. */
export interface Presentation {
  kind: string;
  /** Key of the state; `kind` by default. A page reuses the nodes of a state with the same key. */
  key?: string;
  /** Title of the dialog, if it differs from that of an update. */
  title?: string;
  heading: string;
  /** Part of the heading that is emphasized. */
  highlight?: string;
  about?: string | null;
  look?: 'ok' | 'bad';
  /** Duration of the current outage. */
  outage?: string;
  parts: (Part | Falsy)[];
  actions: (UserAction | Falsy)[];
  /** Text for screen readers; `heading` by default. */
  announcement?: string;
  /** Whether the announcement interrupts a screen reader. */
  isUrgent?: boolean;
  /** Run whose log lines a report contains. */
  reportedRun?: Run;
  /** Whether the presentation contains a time that changes every second. */
  ticks?: boolean;
  /** Parts and actions that replace those of the presentation while the user is asked for confirmation. */
  confirmation?: Pick<Presentation, 'parts' | 'actions' | 'announcement' | 'isUrgent'>;
}

type Falsy = false | null | undefined | '';

export type Part =
  | { kind: 'text' | 'muted' | 'advice'; text: string }
  | Box
  | { kind: 'cause'; text: string; code: string | null }
  | { kind: 'warnings'; warnings: readonly string[] }
  | { kind: 'path'; versions: readonly string[]; done: number; isRunning: boolean }
  | { kind: 'phases'; phases: readonly PhaseText[] }
  | { kind: 'jobs'; jobs: readonly JobText[] }
  | { kind: 'commands'; heading: string; lines: readonly string[] }
  | { kind: 'servers'; heading: string; servers: readonly BuildServer[] }
  | { kind: 'notes'; releases: readonly PublishedRelease[] }
  | { kind: 'settings'; settings: readonly OfferedSetting[] };

export interface Box {
  kind: 'box';
  look: 'bad' | 'warn' | '';
  heading: string;
  lines: readonly string[];
  /** Error code. */
  code?: string | null | undefined;
  link?: PageLink | Falsy;
}

/** Texts of a phase. An unknown text or time is empty. */
export interface PhaseText extends Pick<RowOfRun, 'mark' | 'percent' | 'took'> {
  text: string;
  message: string;
  time: string;
}

export interface JobText {
  kind: string;
  title: string;
  time: string;
  isStuck: boolean;
}

export interface PageLink {
  url: string;
  label: string;
  /** Whether the page belongs to the application, not to the publisher. */
  isOwn?: boolean;
}

/** A button, a link, or a note beside the buttons. */
export type UserAction = Button | PageLink | { note: string; isRight?: boolean };

export interface Button {
  key: string;
  label: string;
  look?: 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';
  /** Request that the button sends; null while a request is pending. */
  press: Request | null;
}

/** Action of a button. */
export type Request =
  | { kind: 'start'; order: Order }
  | { kind: 'rollback'; order: RollbackOrder }
  | { kind: 'check-rollback'; to: string }
  | { kind: 'try-again'; run: Run; order: Order | null }
  | { kind: 'skip'; version: string | null }
  | { kind: 'confirm'; isConfirming: boolean }
  | { kind: 'dismiss' | 'report'; run: Run }
  | { kind: 'cancel' | 'check' | 'close' | 'reload' };

export const button = (
  key: string,
  label: string,
  press: Request | null,
  look?: NonNullable<Button['look']>,
): Button => ({ key, label, press, ...(look && { look }) });

export const muted = (text: string | Falsy): Part | Falsy => text && { kind: 'muted', text };

export const box = (
  look: Box['look'],
  heading: string,
  lines: readonly (string | Falsy)[] = [],
  more: Pick<Box, 'code' | 'link'> = {},
): Box => ({
  kind: 'box',
  look,
  heading,
  lines: lines.flatMap((line) => line || []),
  ...more,
});

export const linkTo = (url: string | null | undefined, label: string): PageLink | null =>
  url ? { url, label } : null;
