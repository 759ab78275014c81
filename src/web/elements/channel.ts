import type { Channel } from '../../release/channel.ts';
import { texts } from '../texts.ts';
import { channelName, sentence } from '../views/format.ts';
import { h, patch } from './dom.ts';
import { channelSheet } from './styles.ts';
import { UpdateElement } from './update-element.ts';

/** `<svc-update-channel>`: the choice of the releases that are offered, for a page of settings. */
export class SvcUpdateChannel extends UpdateElement {
  readonly #form = document.createElement('form');
  /** What the person has chosen and not saved yet. */
  #chosen: string | null = null;
  #isSaving = false;
  #result: { text: string; look: 'ok' | 'bad' } | null = null;

  constructor() {
    super(channelSheet);
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#save();
    });
    this.shadow.append(this.#form);
  }

  protected draw(): void {
    const t = texts();
    const channel = this.store.state.status?.channel ?? null;
    const chosen = this.#chosen ?? channel;
    const isBusy = this.#isSaving || channel === null;
    patch(this.#form, [
      h(
        'fieldset',
        // For screen readers alone, as the page has its own heading above the element.
        { 'aria-label': t.channel },
        ...(Object.keys(t.channels) as Channel[]).map((name) =>
          h(
            'label',
            { key: name },
            h('input', { type: 'radio', name: 'channel', value: name, onchange: () => this.#choose(name) }),
            h('b', t.channels[name].name),
            h('span', t.channels[name].about),
          ),
        ),
      ),
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
    for (const input of this.#form.querySelectorAll('input')) input.checked = input.value === chosen;
  }

  #choose(name: Channel): void {
    this.#chosen = name;
    this.#result = null;
    this.draw();
  }

  async #save(): Promise<void> {
    const { store } = this;
    const { status } = store.state;
    const chosen = this.#chosen ?? status?.channel;
    if (this.#isSaving || !status || chosen === undefined) return;
    this.#isSaving = true;
    this.#result = null;
    this.draw();
    const answer = await store.setChannel(chosen);
    this.#isSaving = false;
    const t = texts();
    if (answer.kind === 'ok') {
      this.#chosen = null;
      this.#result = { look: 'ok', text: t.saved(channelName(store.state.status?.channel ?? chosen)) };
    } else {
      const why =
        answer.kind === 'problem'
          ? sentence(answer.problem.detail)
          : answer.kind === 'logged-out'
            ? `${t.loggedOut}.`
            : t.noAnswerShort(t.product);
      this.#result = { look: 'bad', text: `${t.notSaved(why)} ${t.stands(channelName(status.channel))}` };
    }
    this.draw();
  }
}
