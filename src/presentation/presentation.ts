import type { RowOfRun } from '../wire/phase-rows.ts';
import type { Order, RollbackOrder } from '../wire/reader.ts';
import type { BuildServer, OfferedSetting, PublishedRelease, Run } from '../wire/status.ts';

/** One state of an instance in words: the page renders it, and the client prints it. */
export interface Presentation {
  kind: string;
  /** A page keeps the nodes of a state with the same key; by default `kind`. */
  key?: string;
  /** The title of the dialog, if it is not that of an update. */
  title?: string;
  heading: string;
  /** The part of the heading that is emphasized. */
  highlight?: string;
  about?: string | null;
  look?: 'ok' | 'bad';
  /** The time of an outage so far. */
  outage?: string;
  parts: (Part | Falsy)[];
  actions: (UserAction | Falsy)[];
  /** The text for screen readers; by default `heading`. */
  announcement?: string;
  /** The announcement interrupts a screen reader. */
  isUrgent?: boolean;
  /** The run whose log lines a report contains. */
  reportedRun?: Run;
  /** Contains a time that changes every second. */
  ticks?: boolean;
  /** Replaces parts of the presentation while the user is asked for confirmation. */
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
  /** An error code. */
  code?: string | null | undefined;
  link?: PageLink | Falsy;
}

/** A phase in words. An unknown text or time is empty. */
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
  /** A page of the application, not of the publisher. */
  isOwn?: boolean;
}

/** A button, a link, or a note beside the buttons. */
export type UserAction = Button | PageLink | { note: string; isRight?: boolean };

export interface Button {
  key: string;
  label: string;
  look?: 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';
  /** Null while a request is pending. */
  press: Request | null;
}

/** What a button does. */
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
