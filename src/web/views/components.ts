import type { RowOfRun } from '../../wire/phase-rows.ts';
import type { Order, RollbackOrder } from '../../wire/reader.ts';
import type { Run } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import { texts } from '../texts.ts';

/** The content of the dialog in one state. */
export interface Content {
  /** The title of the dialog; by default `heading`. */
  title?: string;
  /** Content with a different key gets new nodes; by default the kind of the view. */
  key?: string;
  body: Child[];
  actions?: Child[];
  /** The text for screen readers. */
  announcement: string;
  /** The announcement interrupts the screen reader. */
  isUrgent?: boolean;
  /** Contains a clock. */
  ticks?: boolean;
}

/** The actions and the local state of the dialog, for its views. */
export interface DialogContext {
  readonly start: (order: Order) => void;
  readonly cancel: () => void;
  readonly check: () => void;
  readonly skip: (version: string | null) => void;
  readonly askRollback: (to: string) => void;
  readonly rollback: (order: RollbackOrder) => void;
  readonly close: () => void;
  /** Closes the dialog and dismisses the result of the run. */
  readonly dismiss: (run: string) => void;
  readonly tryAgain: (run: Run, order: Order | null) => void;
  readonly reload: () => void;
  readonly copyReport: (run: Run) => void;
  /** Copies the text of the element next to the pressed button. */
  readonly copy: (event: Event, id: string) => void;
  readonly set: (change: LocalState) => void;
  readonly local: LocalState;
  /** The server's time. */
  readonly now: number | null;
  readonly isChecking: boolean;
  /** The page of the running release. */
  readonly newsUrl: string | null;
  readonly dumpUrl: string | null;
  readonly settingsUrl: string | null;
  readonly reportUrl: string;
}

/** The state of a dialog until it is closed. */
export interface LocalState {
  /** The user must confirm that jobs are interrupted or data is replaced. */
  isConfirming?: boolean;
  /** The values for new settings that the user has typed. */
  values?: Readonly<Record<string, string>> | undefined;
  /** The setting without which the update was not started. */
  lacking?: string | undefined;
  /** All release notes are shown. */
  isUnfolded?: boolean;
  /** A cancellation is pending. */
  isCancelSent?: boolean;
  /** The last pressed copy button and its result. */
  copied?: { id: string; isCopied: boolean } | undefined;
  /** The script of the page prevented the reload. */
  isReloadPrevented?: boolean;
  /** The text of a report that could not be copied. */
  report?: string | undefined;
}

type Look = '' | 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';

/**
 * A button with a different key gets a new node, so that Enter is never pressed on a button that has just changed.
 * @param press null while a request is pending
 */
export function button(key: string, label: string, press: (() => void) | null, look: Look = ''): VNode {
  const attributes = { key, type: 'button', class: look ? `b ${look}` : 'b' };
  return h('button', { ...attributes, 'aria-disabled': press ? null : 'true', onclick: press }, label);
}

export function checkAgain(context: DialogContext, look: Look = ''): VNode {
  const { checking, checkAgain } = texts();
  return context.isChecking
    ? button('check', checking, null, look)
    : button('check', checkAgain, context.check, look);
}

/** Shows the effects of a rollback. */
export const rollbackButton = (to: string, context: DialogContext, look: Look = ''): VNode =>
  button('rollback', texts().rollBackToVersion(to), () => context.askRollback(to), look);

export const lead = (heading: Child, about: Child = null, look: 'ok' | 'bad' | null = null): VNode =>
  h(
    'div',
    { key: 'lead', class: look === null ? 'lead' : `lead ${look}` },
    h('h3', heading),
    about && h('p', about),
  );

/** A text with one highlighted part, at any position in a translation. */
export function highlighted(text: string, piece: string): Child {
  const at = text.indexOf(piece);
  if (at < 0) return text;
  const [before, after] = [text.slice(0, at), text.slice(at + piece.length)];
  return [before && h('span', before), piece, after && h('span', after)];
}

export const muted = (...text: Child[]): VNode => h('p.muted', ...text);

export const box = (look: 'bad' | 'warn' | '', heading: string, ...rest: Child[]): VNode =>
  h('div', { class: look ? `box ${look}` : 'box' }, h('b', heading), ...rest);

/** The label of a copy button: the result of the last press, or its default label. */
export function copyLabel(id: string, label: string, { local: { copied } }: DialogContext): string {
  if (copied?.id !== id) return label;
  return copied.isCopied ? texts().copied : texts().selected;
}

/** A command with a copy button. */
export function command(text: string, context: DialogContext): VNode {
  const id = `cmd ${text}`;
  const label = copyLabel(id, texts().copy, context);
  return h(
    'div',
    { key: id, class: 'cmd' },
    h('code', { tabindex: 0, role: 'textbox', 'aria-readonly': 'true', 'aria-label': texts().command }, text),
    h(
      'button',
      {
        type: 'button',
        class: 'b',
        'aria-label': `${label}: ${text}`,
        onclick: (event) => context.copy(event, id),
      },
      label,
    ),
  );
}

export const commandList = (lines: readonly string[], context: DialogContext): VNode =>
  h('div.cmds', ...lines.map((line) => command(line, context)));

export const externalLink = (url: string | null, label: string, place = ''): Child =>
  url !== null &&
  /^https?:\/\//.test(url) &&
  h('a', { key: 'link', class: place, href: url, target: '_blank', rel: 'noopener noreferrer' }, label);

export const bulletList = (items: readonly string[]): VNode => h('ul', ...items.map((item) => h('li', item)));

export const warningBox = (warnings: readonly string[]): Child =>
  warnings.length > 0 &&
  box(
    'warn',
    texts().warnings(warnings.length),
    warnings.length === 1 ? h('span', warnings[0]) : bulletList(warnings),
  );

/** The symbol before a phase of a run or a version of an upgrade path. */
export function dot(mark: RowOfRun['mark']): VNode {
  const inside: Record<RowOfRun['mark'], Child> = {
    done: h('path', { d: 'M6 9.3 8.2 11.5 12.2 7' }),
    now: h('circle', { cx: 9, cy: 9, r: 3.5, fill: 'currentColor', stroke: 'none' }),
    failed: h('path', { d: 'M6.6 6.6 11.4 11.4M11.4 6.6 6.6 11.4' }),
    ahead: null,
  };
  return h(
    'svg',
    { viewBox: '0 0 18 18', 'aria-hidden': 'true' },
    h('circle', { cx: 9, cy: 9, r: 8 }),
    inside[mark],
  );
}
