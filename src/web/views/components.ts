import type {
  ButtonAction,
  MessageBox,
  PageLink,
  UserAction,
} from '../../presentation/presentation-parts.ts';
import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import type { RunPhaseRow } from '../../wire/derived/phase-rows.ts';
import { h, type VNode, type VNodeChild } from '../dom/vnode.ts';

export interface DialogContext {
  readonly t: TextsAndFormats;
  readonly local: DialogState;
  readonly press: (request: ButtonAction) => void;
  /** Copies the text of the element that precedes the pressed button. */
  readonly copy: (event: Event, id: string) => void;
  readonly set: (change: DialogState) => void;
  readonly settingsUrl: string | null;
  readonly reportUrl: string | null;
}

/** Dialog state that is discarded when the dialog closes. */
export interface DialogState {
  /** Whether the dialog is asking for confirmation to interrupt jobs or replace data. */
  isConfirming?: boolean;
  /** Values typed by the user for new settings. */
  values?: Readonly<Record<string, string>> | undefined;
  /** Name of the required setting that had no value when the user tried to start the update. */
  lacking?: string | undefined;
  /** Whether all release notes are shown. */
  isUnfolded?: boolean;
  isCancelSent?: boolean;
  /** The copy button that was pressed last, and whether the text was copied. */
  copied?: { id: string; isCopied: boolean } | undefined;
  /** Whether a script on the page prevented the reload. */
  isReloadPrevented?: boolean;
  /** Text of a report that is shown because it could not be copied. */
  report?: string | undefined;
}

/**
 * A button with a new key gets a new node. In a reused node with focus, Enter could press a button whose action has
 * just changed.
 */
export function renderUserAction(action: UserAction, context: DialogContext): VNodeChild {
  if ('note' in action) return h(action.isRight ? 'span.muted.end' : 'span.muted', action.note);
  if ('url' in action) return renderPageLink(action, 'end');
  const { key, label, look, press } = action;
  const attributes = {
    key,
    type: 'button',
    class: look ? `b ${look}` : 'b',
    'aria-disabled': press ? null : 'true',
    onclick: press && (() => context.press(press)),
  };
  if (key !== 'report') return h('button', attributes, label);
  const download = { key: 'download', href: context.reportUrl, download: true };
  return [
    h('button', attributes, copyLabelOf(key, label, context)),
    context.reportUrl && h('a', download, context.t.downloadReport),
  ];
}

/** Highlights `piece`, which may be at any position in a translated text. */
export function renderHighlightedText(text: string, piece = ''): VNodeChild {
  const at = piece === '' ? -1 : text.indexOf(piece);
  if (at < 0) return text;
  const [before, after] = [text.slice(0, at), text.slice(at + piece.length)];
  return [before && h('span', before), piece, after && h('span', after)];
}

export const renderMessageBox = ({ look, heading, lines, code, link }: MessageBox): VNode =>
  h(
    'div',
    { class: look ? `box ${look}` : 'box' },
    h('b', heading),
    lines.length > 1 ? h('ul', ...lines.map((line) => h('li', line))) : lines.map((line) => h('span', line)),
    code && h('span.mono', code),
    link && renderPageLink(link),
  );

/** After the copy button was pressed, its label shows whether the text was copied. */
function copyLabelOf(id: string, label: string, { local: { copied }, t }: DialogContext): string {
  if (copied?.id !== id) return label;
  return copied.isCopied ? t.copied : t.selected;
}

/** Each command has its own copy button. */
export const renderCommandList = (lines: readonly string[], context: DialogContext): VNode =>
  h('div.cmds', ...lines.map((line) => renderCommand(line, context)));

function renderCommand(text: string, context: DialogContext): VNode {
  const { t } = context;
  const id = `cmd ${text}`;
  const label = copyLabelOf(id, t.copy, context);
  const code = { tabindex: 0, role: 'textbox', 'aria-readonly': 'true', 'aria-label': t.command };
  const onclick = (event: Event) => context.copy(event, id);
  return h(
    'div',
    { key: id, class: 'cmd' },
    h('code', code, text),
    h('button', { type: 'button', class: 'b', 'aria-label': `${label}: ${text}`, onclick }, label),
  );
}

export function renderPageLink({ url, label, isOwn }: PageLink, location = ''): VNodeChild {
  if (isOwn) return h('a', { href: url }, label);
  const attributes = {
    key: 'link',
    class: location,
    href: url,
    target: '_blank',
    rel: 'noopener noreferrer',
  };
  return /^https?:\/\//.test(url) && h('a', attributes, label);
}

/** Renders the symbol before a phase of a run, or before a version in an upgrade path. */
export function renderProgressMark(mark: RunPhaseRow['mark']): VNode {
  const inside: Record<RunPhaseRow['mark'], VNodeChild> = {
    done: h('path', { d: 'M6 9.3 8.2 11.5 12.2 7' }),
    now: h('circle', { cx: 9, cy: 9, r: 3.5, fill: 'currentColor', stroke: 'none' }),
    failed: h('path', { d: 'M6.6 6.6 11.4 11.4M11.4 6.6 6.6 11.4' }),
    ahead: null,
  };
  const shape = { viewBox: '0 0 18 18', 'aria-hidden': 'true' };
  return h('span.dot', h('svg', shape, h('circle', { cx: 9, cy: 9, r: 8 }), inside[mark]));
}
