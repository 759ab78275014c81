import type { RowOfRun } from '../../wire/phase-rows.ts';
import type { Order, RollbackOrder } from '../../wire/reader.ts';
import type { Run } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import { texts } from '../texts.ts';

/** What the dialog shows of one state. */
export interface Content {
  /** Of the dialog; by default the one of a dialog that starts an update. */
  title?: string;
  /** Content of another key is made of other nodes; by default the kind of the view. */
  key?: string;
  body: Child[];
  actions?: Child[];
  /** What is said to somebody who does not see it. */
  announcement: string;
  /** The announcement interrupts whatever is being said. */
  isUrgent?: boolean;
  /** It shows how long something takes. */
  ticks?: boolean;
}

/** What a view has of the dialog around it: what a person can do, and what the dialog knows by itself. */
export interface DialogContext {
  readonly start: (order: Order) => void;
  readonly cancel: () => void;
  readonly check: () => void;
  readonly skip: (version: string | null) => void;
  readonly askRollback: (to: string) => void;
  readonly rollback: (order: RollbackOrder) => void;
  readonly close: () => void;
  /** Closes the dialog, and never shows the end of the run again. */
  readonly dismiss: (run: string) => void;
  readonly tryAgain: (run: Run, order: Order | null) => void;
  readonly reload: () => void;
  readonly copyReport: (run: Run) => void;
  /** Copies the text of the element beside the pressed button. */
  readonly copy: (event: Event, id: string) => void;
  readonly set: (change: LocalState) => void;
  readonly local: LocalState;
  /** The server's time. */
  readonly now: number | null;
  readonly isChecking: boolean;
  /** Of the page about what runs now. */
  readonly newsUrl: string | null;
  readonly dumpUrl: string | null;
  readonly settingsUrl: string | null;
}

/** What a dialog knows by itself, until it is closed. */
export interface LocalState {
  /** The person is asked once more: whether jobs are to be cut short, whether data is to be replaced. */
  isConfirming?: boolean;
  /** All of the notes are shown. */
  isUnfolded?: boolean;
  /** A request to cancel is not answered yet. */
  isCancelSent?: boolean;
  /** The last copy button that was pressed, and what came of it. */
  copied?: { id: string; isCopied: boolean } | undefined;
  /** The script of the page has prevented that it is loaded anew. */
  stays?: boolean;
  /** The text of a report that could not be copied. */
  report?: string | undefined;
}

type Look = '' | 'primary' | 'quiet' | 'quiet end' | 'quiet danger end';

/**
 * A button of another key gets another node, so that nobody presses Enter on what has just become another button.
 * @param press null while the last press is being answered
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

export const lead = (heading: Child, about: Child = null, look: 'ok' | 'bad' | null = null): VNode =>
  h(
    'div',
    { key: 'lead', class: look === null ? 'lead' : `lead ${look}` },
    h('h3', heading),
    about && h('p', about),
  );

/** A text that sets off one piece of it, wherever a translation puts that. */
export function highlighted(text: string, piece: string): Child {
  const at = text.indexOf(piece);
  if (at < 0) return text;
  const [before, after] = [text.slice(0, at), text.slice(at + piece.length)];
  return [before && h('span', before), piece, after && h('span', after)];
}

export const muted = (...text: Child[]): VNode => h('p.muted', ...text);

export const box = (look: 'bad' | 'warn' | '', heading: string, ...rest: Child[]): VNode =>
  h('div', { class: look ? `box ${look}` : 'box' }, h('b', heading), ...rest);

/** What a copy button says: what became of its last press, else its label. */
export function copyLabel(id: string, label: string, { local: { copied } }: DialogContext): string {
  if (copied?.id !== id) return label;
  return copied.isCopied ? texts().copied : texts().selected;
}

/** A command to be typed, with a button that copies it. */
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

/** The sign before a phase of a run, or before a version of a path. */
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
