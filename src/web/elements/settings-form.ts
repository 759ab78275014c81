import type { Channel } from '../../core/release/channel.ts';
import type { Answer } from '../../wire/reader-answer.ts';
import type { UserStatus } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { type Draft, savedSettings } from '../model/settings.ts';
import { texts } from '../texts.ts';
import { channelName, sentence } from '../views/format.ts';
import { patch } from './dom.ts';
import { formSheet } from './styles.ts';
import { UpdateElement } from './update-element.ts';
import { type Child, h, type VNode } from './vnode.ts';

/** A form for a settings page. Changes are kept as a draft until the Save button is pressed. */
export abstract class SettingsForm extends UpdateElement {
  readonly #form = document.createElement('form');
  #draft: Draft = {};
  #isSaving = false;
  #result: { text: string; look: 'ok' | 'bad' } | null = null;

  constructor() {
    super(formSheet);
    // The server validates the values and explains a refusal.
    this.#form.noValidate = true;
    this.#form.addEventListener('input', ({ target }) => this.#change(target as HTMLInputElement));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#save();
    });
    this.shadow.append(this.#form);
  }

  /** @param chosen the saved settings with the changes of the draft */
  protected abstract fields(status: Status | null, chosen: Draft, draft: Draft): Child[];
  /** Sends the draft: one request for each kind of setting, until one is refused. */
  protected abstract ask(status: Status, draft: Draft): Promise<Answer<Status | UserStatus>>;
  /** The saved settings in words. */
  protected abstract told(status: Status): string;

  protected draw(): void {
    const t = texts();
    const { status } = this.store.state;
    const chosen: Draft = { ...(status && savedSettings(status)), ...this.#draft };
    const isBusy = this.#isSaving || status === null;
    patch(this.#form, [
      ...this.fields(status, chosen, this.#draft),
      h(
        'div.row',
        h(
          'button',
          { type: 'submit', class: 'b primary', 'aria-disabled': isBusy ? 'true' : null },
          this.#isSaving ? t.saving : t.save,
        ),
        h('span', { role: 'status', class: this.#result?.look ?? '' }, this.#result?.text ?? ''),
      ),
    ]);
    for (const input of this.#form.querySelectorAll('input')) fill(input, chosen[input.name as keyof Draft]);
  }

  #change({ name, type, value, checked }: HTMLInputElement): void {
    const all = () => [...this.#form.querySelectorAll<HTMLInputElement>(`[name=${name}]:checked`)];
    const chosen =
      name === 'days' ? all().map((input) => input.value) : type === 'checkbox' ? checked : value;
    this.#draft = { ...this.#draft, [name]: chosen };
    this.#result = null;
    this.draw();
  }

  async #save(): Promise<void> {
    const { store } = this;
    const { status } = store.state;
    if (this.#isSaving || !status) return;
    const draft = this.#draft;
    this.#isSaving = true;
    this.#result = null;
    this.draw();
    const answer = await this.ask(status, draft);
    this.#isSaving = false;
    const t = texts();
    if (answer.kind === 'ok') {
      // Keep changes that were made during the request.
      if (this.#draft === draft) this.#draft = {};
      this.#result = { look: 'ok', text: this.told(store.state.status ?? status) };
    } else {
      const why =
        answer.kind === 'problem'
          ? sentence(answer.problem.detail)
          : answer.kind === 'logged-out'
            ? `${t.loggedOut}.`
            : t.noAnswerSaving(t.product);
      this.#result = {
        look: 'bad',
        text: `${t.notSaved(why)} ${t.channelUnchanged(channelName(status.channel))}`,
      };
    }
    this.draw();
  }
}

function fill(input: HTMLInputElement, chosen: Draft[keyof Draft]): void {
  const { type, value } = input;
  if (type === 'radio') input.checked = value === chosen;
  else if (type === 'checkbox')
    input.checked = Array.isArray(chosen) ? chosen.includes(value) : chosen === true;
  else if (typeof chosen === 'string' && value !== chosen) input.value = chosen;
}

export function channelFields(): VNode {
  const t = texts();
  return h(
    'fieldset',
    // Only for screen readers, because the page has a heading above the element.
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
