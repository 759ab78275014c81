import type { Channel } from '../../core/release/channel.ts';
import { formatAutomaticUpdateSettings } from '../../presentation/present-automatic.ts';
import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import { dayNames } from '../../wire/codes.ts';
import type { Automatic } from '../../wire/status.ts';
import { createDateFormat } from '../../wire/texts/times.ts';
import { h, type VNode, type VNodeChild } from '../dom/vnode.ts';

export function renderChannelFieldset(t: TextsAndFormats): VNode {
  return h(
    'fieldset',
    // The label is only for screen readers, because the page itself has a heading above the element.
    { key: 'channel', 'aria-label': t.channel },
    ...(Object.keys(t.channels) as Channel[]).map((name) =>
      h(
        'label.choice',
        { key: name },
        h('input', { type: 'radio', name: 'channel', value: name }),
        h('b', t.channels[name].name),
        h('span', t.channels[name].about),
      ),
    ),
  );
}

/**
 * @param automatic - the saved settings
 * @param isEnabled - whether automatic updates are enabled in the form
 * @param isChanged - whether the form has unsaved changes
 */
export function renderAutomaticUpdatesFieldset(
  automatic: Automatic,
  { isEnabled, isChanged }: { isEnabled: boolean; isChanged: boolean },
  t: TextsAndFormats,
): VNode {
  return h(
    'fieldset',
    { key: 'automatic', 'aria-label': t.automatic },
    h(
      'label.choice',
      h('input', { type: 'checkbox', role: 'switch', name: 'enabled' }),
      h('b', t.automaticEnabled),
      h('span', t.automaticEnabledAbout),
    ),
    isEnabled && renderScheduleFields(t),
    h('p.muted', isChanged ? t.unsavedChanges : formatAutomaticUpdateSettings(automatic, t)),
  );
}

function renderScheduleFields(t: TextsAndFormats): VNodeChild {
  const [beforeAge = '', afterAge = ''] = t.minimumAge.split('{days}');
  return h(
    'div',
    { key: 'when', class: 'fields' },
    h(
      'div.row',
      renderField(t.windowFrom, 'from', 'time'),
      renderField(t.windowTo, 'to', 'time'),
      renderField(t.timeZone, 'timeZone', 'text'),
    ),
    h(
      'fieldset',
      { 'aria-labelledby': 'days' },
      h('span', { id: 'days' }, t.days),
      h('div.row', ...dayNames.map((day, at) => renderCheckbox(formatWeekday(at, t.locale), 'days', day))),
    ),
    h('label.plain', beforeAge, renderInput('age', 'number', { min: 0 }), afterAge),
    renderCheckbox(t.includeMajors, 'includeMajors', 'on'),
    renderCheckbox(t.rehearseFirst, 'rehearse', 'on'),
  );
}

const renderInput = (name: string, type: string, more: Record<string, string | number> = {}) =>
  h('input', { name, type, autocomplete: 'off', spellcheck: 'false', ...more });

const renderField = (label: string, name: string, type: string) =>
  h('label', { key: name, class: 'field' }, h('span', label), renderInput(name, type));

const renderCheckbox = (label: string, name: string, value: string) =>
  h('label', { key: value, class: 'plain' }, renderInput(name, 'checkbox', { value }), ' ', label);

/** Returns the short name of a weekday, such as `Mon`. The index is 0 for Monday. */
const formatWeekday = (index: number, locale: string): string =>
  createDateFormat(locale, { weekday: 'short' }, 'UTC').format(Date.UTC(2024, 0, 1 + index));
