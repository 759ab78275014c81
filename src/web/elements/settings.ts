import { dayWords } from '../../wire/codes.ts';
import type { Answer } from '../../wire/reader-answer.ts';
import type { UserStatus } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { serverTime } from '../model/ages.ts';
import { choiceOf, type Draft } from '../model/settings.ts';
import { texts } from '../texts.ts';
import { automaticText } from '../views/automatic.ts';
import { channelName, sentences, weekday } from '../views/format.ts';
import { channelFields, SettingsForm } from './settings-form.ts';
import { type Child, h } from './vnode.ts';

/** `<svc-update-settings>`: the channel and the automatic updates, for a settings page. */
export class SvcUpdateSettings extends SettingsForm {
  protected fields(status: Status | null, { enabled }: Draft, { channel: _, ...draft }: Draft): Child[] {
    const t = texts();
    if (!status?.automatic) return [channelFields()];
    const isChanged = Object.keys(draft).length > 0;
    return [
      channelFields(),
      h(
        'fieldset',
        { key: 'automatic', 'aria-label': t.automatic },
        h(
          'label.choice',
          h('input', { type: 'checkbox', role: 'switch', name: 'enabled' }),
          h('b', t.automaticEnabled),
          h('span', t.automaticEnabledAbout),
        ),
        enabled && whenFields(),
        h('p.muted', isChanged ? t.unsavedChanges : automaticText(status.automatic, this.#now())),
      ),
    ];
  }

  /** Sends the settings that may be refused first, so that a refusal saves nothing. */
  protected async ask(status: Status, draft: Draft): Promise<Answer<Status | UserStatus>> {
    const { channel = status.channel } = draft;
    const answer = status.automatic && (await this.store.setAutomatic(choiceOf(draft)));
    if (answer && (answer.kind !== 'ok' || channel === status.channel)) return answer;
    return this.store.setChannel(channel);
  }

  protected told({ channel, automatic }: Status): string {
    return sentences(texts().saved(channelName(channel)), automatic && automaticText(automatic, this.#now()));
  }

  #now(): number | null {
    return serverTime(this.store.state.clock, performance.now());
  }
}

function whenFields(): Child {
  const t = texts();
  const [beforeAge = '', afterAge = ''] = t.minimumAge.split('{days}');
  return h(
    'div',
    { key: 'when', class: 'fields' },
    h(
      'div.row',
      field(t.windowFrom, 'from', 'time'),
      field(t.windowTo, 'to', 'time'),
      field(t.timeZone, 'timeZone', 'text'),
    ),
    h(
      'fieldset',
      { 'aria-labelledby': 'days' },
      h('span', { id: 'days' }, t.days),
      h('div.row', ...dayWords.map((day, at) => tick(weekday(at), 'days', day))),
    ),
    h('label.plain', beforeAge, input('age', 'number', { min: 0 }), afterAge),
    tick(t.includeMajors, 'includeMajors', 'on'),
  );
}

const input = (name: string, type: string, more: Record<string, string | number> = {}) =>
  h('input', { name, type, autocomplete: 'off', spellcheck: 'false', ...more });

const field = (label: string, name: string, type: string) =>
  h('label', { key: name, class: 'field' }, h('span', label), input(name, type));

const tick = (label: string, name: string, value: string) =>
  h('label', { key: value, class: 'plain' }, input(name, 'checkbox', { value }), ' ', label);
