import type { RollbackOrder, UpdateOrderBody } from '../wire/api-client/update-api-client.ts';
import type { RowOfRun } from '../wire/derived/phase-rows.ts';
import type { BuildServer, OfferedSetting, PublishedRelease, Run } from '../wire/status.ts';

/** Presentation of an instance's state as texts and actions, which the page renders and the client prints. */
export interface Presentation {
  kind: string;
  /** Key of the state; `kind` by default. If the key stays the same, a page reuses the nodes of the previous state. */
  key?: string;
  /** Title of the dialog, if it is not the title for updates. */
  title?: string;
  heading: string;
  /** Part of the heading that is emphasized. */
  highlight?: string;
  about?: string | null;
  look?: 'ok' | 'bad';
  /** Duration of the current outage, as a text. */
  outage?: string;
  parts: (PresentationPart | Falsy)[];
  actions: (UserAction | Falsy)[];
  /** Text for screen readers; `heading` by default. */
  announcement?: string;
  /** Whether the announcement interrupts a screen reader. */
  isUrgent?: boolean;
  /** Run whose log lines are included in a report. */
  reportedRun?: Run;
  /** Whether the presentation contains a time that changes every second. */
  ticks?: boolean;
  /** Parts and actions that replace those of the presentation while the user is asked for confirmation. */
  confirmation?: Pick<Presentation, 'parts' | 'actions' | 'announcement' | 'isUrgent'>;
}

type Falsy = false | null | undefined | '';

export type PresentationPart =
  | { kind: 'text' | 'muted' | 'advice'; text: string }
  | MessageBox
  | { kind: 'cause'; text: string; code: string | null }
  | { kind: 'warnings'; warnings: readonly string[] }
  | { kind: 'path'; versions: readonly string[]; done: number; isRunning: boolean }
  | { kind: 'phases'; phases: readonly PhaseText[] }
  | { kind: 'jobs'; jobs: readonly JobText[] }
  | { kind: 'commands'; heading: string; lines: readonly string[] }
  | { kind: 'servers'; heading: string; servers: readonly BuildServer[] }
  | { kind: 'notes'; releases: readonly PublishedRelease[] }
  | { kind: 'settings'; settings: readonly OfferedSetting[] };

export interface MessageBox {
  kind: 'box';
  look: 'bad' | 'warn' | '';
  heading: string;
  lines: readonly string[];
  /** Error code to be shown with the message. */
  code?: string | null | undefined;
  link?: PageLink | Falsy;
}

/** Texts of a phase. A text or time that is unknown is empty. */
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
export type UserAction = ActionButton | PageLink | { note: string; isRight?: boolean };

export interface ActionButton {
  key: string;
  label: string;
  look?: 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';
  /** Action of the button; null while the action is in progress. */
  press: ButtonRequest | null;
}

/** Action that a button triggers, with its data. */
export type ButtonRequest =
  | { kind: 'start'; order: UpdateOrderBody }
  | { kind: 'rollback'; order: RollbackOrder }
  | { kind: 'check-rollback'; to: string }
  | { kind: 'try-again'; run: Run; order: UpdateOrderBody | null }
  | { kind: 'skip'; version: string | null }
  | { kind: 'confirm'; isConfirming: boolean }
  | { kind: 'dismiss' | 'report'; run: Run }
  | { kind: 'cancel' | 'check' | 'close' | 'reload' };

export const createButton = (
  key: string,
  label: string,
  press: ButtonRequest | null,
  look?: NonNullable<ActionButton['look']>,
): ActionButton => ({ key, label, press, ...(look && { look }) });

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
