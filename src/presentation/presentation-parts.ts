import type {
  RehearsalRequestBody,
  RollbackRequestBody,
  UpdateRequestBody,
} from '../wire/api-client/update-api-client.ts';
import type { RunPhaseRow } from '../wire/derived/phase-rows.ts';
import type { AddedReleaseSetting, BuildServer, PublishedRelease, Run } from '../wire/status.ts';

/** State of an instance as texts and actions. The page renders them, and the client prints them. */
export interface Presentation {
  kind: string;
  /** Default: `kind`. A page keeps its DOM nodes if the next presentation has the same key. */
  key?: string;
  /** Title of the dialog. Default: the title for updates. */
  title?: string;
  heading: string;
  /** Part of `heading` to emphasize. */
  highlight?: string;
  about?: string | null;
  look?: 'ok' | 'bad';
  /** Formatted duration of the current outage. */
  outage?: string;
  parts: (PresentationPart | Falsy)[];
  actions: (UserAction | Falsy)[];
  /** Text for screen readers. Default: `heading`. */
  announcement?: string;
  /** Whether the announcement interrupts a screen reader. */
  isUrgent?: boolean;
  /** Run whose log lines are included in a report. */
  reportedRun?: Run;
  /** Whether the presentation contains a time that changes every second. */
  ticks?: boolean;
  /** Replaces the parts and actions while the user is asked for confirmation. */
  confirmation?: Pick<Presentation, 'parts' | 'actions' | 'announcement' | 'isUrgent'>;
}

type Falsy = false | null | undefined | '';

export type PresentationPart =
  | { kind: 'text' | 'muted' | 'advice'; text: string }
  | MessageBox
  | { kind: 'cause'; text: string; code: string | null }
  | { kind: 'warnings'; warnings: readonly string[] }
  | { kind: 'path'; versions: readonly string[]; done: number; isRunning: boolean }
  | { kind: 'phases'; phases: readonly PhasePresentation[] }
  | { kind: 'jobs'; jobs: readonly JobPresentation[] }
  | { kind: 'commands'; heading: string; lines: readonly string[] }
  | { kind: 'servers'; heading: string; servers: readonly BuildServer[] }
  | { kind: 'notes'; releases: readonly PublishedRelease[] }
  | { kind: 'settings'; settings: readonly AddedReleaseSetting[] };

export interface MessageBox {
  kind: 'box';
  look: 'bad' | 'warn' | '';
  heading: string;
  lines: readonly string[];
  /** Error code shown with the message. */
  code?: string | null | undefined;
  link?: PageLink | Falsy;
}

/** Texts of a phase. Unknown texts and times are empty. */
export interface PhasePresentation extends Pick<RunPhaseRow, 'mark' | 'percent' | 'took'> {
  text: string;
  message: string;
  time: string;
}

export interface JobPresentation {
  kind: string;
  title: string;
  time: string;
  isStuck: boolean;
}

export interface PageLink {
  url: string;
  label: string;
  /** Whether the page belongs to the application and not to the publisher. */
  isOwn?: boolean;
}

/** A button, a link, or a note beside the buttons. */
export type UserAction = ButtonPresentation | PageLink | { note: string; isRight?: boolean };

export interface ButtonPresentation {
  key: string;
  label: string;
  look?: 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';
  /** Null while the action is in progress. */
  press: ButtonAction | null;
}

export type ButtonAction =
  | { kind: 'start'; order: UpdateRequestBody }
  | { kind: 'rehearse'; order: RehearsalRequestBody }
  | { kind: 'rollback'; order: RollbackRequestBody }
  | { kind: 'check-rollback'; to: string }
  | { kind: 'try-again'; run: Run; order: UpdateRequestBody | null }
  | { kind: 'skip'; version: string | null }
  | { kind: 'confirm'; isConfirming: boolean }
  | { kind: 'dismiss' | 'report'; run: Run }
  | { kind: 'cancel' | 'cancel-rehearsal' | 'check' | 'close' | 'reload' };

export const createButton = (
  key: string,
  label: string,
  press: ButtonAction | null,
  look?: NonNullable<ButtonPresentation['look']>,
): ButtonPresentation => ({ key, label, press, ...(look && { look }) });

export const createMutedText = (text: string | Falsy): PresentationPart | Falsy =>
  text && { kind: 'muted', text };

export const createMessageBox = (
  look: MessageBox['look'],
  heading: string,
  lines: readonly (string | Falsy)[] = [],
  more: Pick<MessageBox, 'code' | 'link'> = {},
): MessageBox => ({
  kind: 'box',
  look,
  heading,
  lines: lines.flatMap((line) => line || []),
  ...more,
});

export const createPageLink = (url: string | null | undefined, label: string): PageLink | null =>
  url ? { url, label } : null;
