import { createWarningBox } from '../../presentation/present-result.ts';
import type {
  JobPresentation,
  PhasePresentation,
  Presentation,
  PresentationPart,
} from '../../presentation/presentation-parts.ts';
import { createMessageBox } from '../../presentation/presentation-parts.ts';
import { h, type VNode, type VNodeChild } from '../dom/vnode.ts';
import {
  type DialogContext,
  renderCommandList,
  renderHighlightedText,
  renderMessageBox,
  renderProgressMark,
  renderUserAction,
} from './components.ts';
import { renderNewSettingFields } from './new-setting-fields.ts';
import { renderReleaseNotes } from './render-release-notes.ts';

/** While the dialog asks for confirmation, replaces its texts and buttons with those for the confirmation. */
export const applyConfirmationContent = (
  shown: Presentation,
  { local }: Pick<DialogContext, 'local'>,
): Presentation => (local.isConfirming ? { ...shown, ...shown.confirmation } : shown);

export function renderDialogContent(
  { title, key, kind, heading, highlight, about, look, outage, parts, actions }: Presentation,
  { closing, close }: { closing: string; close: () => void },
  context: DialogContext,
): VNodeChild[] {
  const { t } = context;
  const { report } = context.local;
  const cross = h('path', { d: 'M2.5 2.5 11.5 11.5M11.5 2.5 2.5 11.5' });
  const x = h('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true' }, cross);
  return [
    h(
      'header',
      h('h2', { id: 'title', tabindex: -1 }, title ?? t.heading(t.product)),
      h('button', { type: 'button', class: 'x', 'aria-label': closing, onclick: close }, x),
    ),
    h(
      'div',
      { key: `body ${key ?? kind}`, class: 'body' },
      h(
        'div',
        { key: 'lead', class: outage ? 'unavailable' : look ? `lead ${look}` : 'lead' },
        outage && h('span', { class: 'clock', role: 'timer' }, outage),
        h('h3', renderHighlightedText(heading, highlight)),
        about && h('p', { class: outage && 'muted' }, about),
      ),
      ...parts.map((part) => part && renderPresentationPart(part, context)),
      report !== undefined &&
        h('textarea', { key: 'report', readonly: true, 'aria-label': t.report, rows: 10 }, report),
    ),
    actions.some(Boolean) &&
      h(
        'div',
        { key: 'actions', class: 'actions' },
        ...actions.map((action) => action && renderUserAction(action, context)),
      ),
  ];
}

export function renderPresentationPart(part: PresentationPart, context: DialogContext): VNodeChild {
  switch (part.kind) {
    case 'text':
      return h('p', part.text);
    case 'muted':
      return h('p.muted', part.text);
    case 'advice':
      return h('p', h('b', context.t.next), ' ', part.text);
    case 'box':
      return renderMessageBox(part);
    case 'cause':
      return renderMessageBox(createMessageBox('bad', part.text, [], { code: part.code }));
    case 'warnings': {
      const warnings = createWarningBox(part.warnings, context.t);
      return warnings && renderMessageBox(warnings);
    }
    case 'path':
      return renderUpgradePath(part, context);
    case 'phases':
      return (
        part.phases.length > 0 && h('ol', { key: 'phases', class: 'phases' }, ...part.phases.map(renderPhase))
      );
    case 'jobs':
      return part.jobs.length > 0 && h('ul', { key: 'jobs', class: 'jobs' }, ...part.jobs.map(renderJob));
    case 'commands':
      return part.lines.length > 0 && [h('p', part.heading), renderCommandList(part.lines, context)];
    case 'servers': {
      const { heading, servers } = part;
      const lines = servers.map(({ name, version }) => context.t.serverVersion(name, version));
      const commands = new Set(servers.map(({ command }) => command).filter(Boolean));
      return [
        renderMessageBox(createMessageBox('', heading, lines)),
        renderCommandList([...commands], context),
      ];
    }
    case 'notes':
      return renderReleaseNotes(part.releases, context);
    case 'settings':
      return renderNewSettingFields(part.settings, context);
  }
}

function renderUpgradePath(
  { versions, done, isRunning }: PresentationPart & { kind: 'path' },
  { t }: DialogContext,
): VNode {
  const items = versions.map((version, at) => {
    const mark = at < done ? 'done' : at === done && isRunning ? 'now' : 'ahead';
    const current = mark === 'now' ? 'step' : null;
    return h('li', { class: mark, 'aria-current': current }, renderProgressMark(mark), h('span', version));
  });
  return h('ol', { class: 'stations', 'aria-label': t.upgradePath }, ...items);
}

function renderPhase({ mark, text, message, time, percent }: PhasePresentation): VNode {
  return h(
    'li',
    { class: mark, 'aria-current': mark === 'now' ? 'step' : null },
    renderProgressMark(mark),
    h('span', mark === 'now' ? h('b', text) : text, ' ', h('span.muted', message)),
    h('span.t', time),
    percent !== null && h('progress', { value: percent, max: 100, 'aria-label': text }),
  );
}

const renderJob = ({ kind, title, time, isStuck }: JobPresentation): VNode =>
  h('li', h('span.kind', kind), h('span', title), h('span', { class: isStuck ? 't stuck' : 't' }, time));
