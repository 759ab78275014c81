import { formatAutomaticUpdateSettings } from '../../presentation/present-automatic.ts';
import { joinSentences } from '../../presentation/texts-and-formats.ts';
import type { NonAdminStatus } from '../../wire/api-client/parse-responses.ts';
import type { RequestResult } from '../../wire/api-client/request-result.ts';
import type { Automatic, Status } from '../../wire/status.ts';
import { patchChildren } from '../dom/patch-children.ts';
import { h } from '../dom/vnode.ts';
import { createAutomaticUpdatesBody, type SettingsDraft, savedSettingsOf } from '../model/settings-draft.ts';
import { renderAutomaticUpdatesFieldset, renderChannelFieldset } from '../views/settings-form.ts';
import { formStyleSheet } from './styles.ts';
import { UpdateElement } from './update-element.ts';

/**
 * `<svc-update-settings>`: shows the channel and the automatic updates on a settings page. Changes remain a draft until
 * the user presses Save.
 */
export class SvcUpdateSettings extends UpdateElement {
  readonly #form = document.createElement('form');
  #draft: SettingsDraft = {};
  #isSaving = false;
  #result: { text: string; look: 'ok' | 'bad' } | null = null;

  constructor() {
    super(formStyleSheet);
    // The browser must not validate the values. The server validates them and explains which values it rejects.
    this.#form.noValidate = true;
    this.#form.addEventListener('input', ({ target }) => this.#change(target as HTMLInputElement));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#save();
    });
    this.shadow.append(this.#form);
  }

  /** Returns the saved settings for automatic updates; null if the form does not show them. */
  protected automaticOf({ automatic }: Status): Automatic | null {
    return automatic;
  }

  protected draw(): void {
    const t = this.texts;
    const { status, loggedOut } = this.store.state;
    if (loggedOut) {
      this.#draft = {};
      this.#result = null;
    }
    const chosen: SettingsDraft = { ...(status && savedSettingsOf(status)), ...this.#draft };
    const automatic = status && this.automaticOf(status);
    const { channel: _, ...automaticDraft } = this.#draft;
    const saved = loggedOut ? `${t.loggedOut}.` : this.#result?.text;
    const isBusy = this.#isSaving || status === null;
    patchChildren(this.#form, [
      renderChannelFieldset(t),
      automatic &&
        renderAutomaticUpdatesFieldset(
          automatic,
          { isEnabled: chosen.enabled === true, isChanged: Object.keys(automaticDraft).length > 0 },
          t,
        ),
      h(
        'div.row',
        h(
          'button',
          { type: 'submit', class: 'b primary', 'aria-disabled': isBusy ? 'true' : null },
          this.#isSaving ? t.saving : t.save,
        ),
        h('span', { role: 'status', class: this.#result?.look ?? '' }, saved),
      ),
    ]);
    for (const input of this.#form.querySelectorAll('input'))
      fillInput(input, chosen[input.name as keyof SettingsDraft]);
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
    const response = await this.#ask(status, draft);
    this.#isSaving = false;
    const t = this.texts;
    if (response.kind === 'ok') {
      // Keep changes that the user has made to the draft while it was being saved.
      if (this.#draft === draft) this.#draft = {};
      this.#result = { look: 'ok', text: this.#told(store.state.status ?? status) };
    } else {
      const why =
        response.kind === 'problem' ? t.sentence(response.problem.detail) : t.noAnswerSaving(t.product);
      this.#result = {
        look: 'bad',
        text: `${t.notSaved(why)} ${t.channelUnchanged(t.channelName(status.channel))}`,
      };
    }
    this.draw();
  }

  /** Sends the automatic update settings first. If the server rejects them, the channel is not saved either. */
  async #ask(status: Status, draft: SettingsDraft): Promise<RequestResult<Status | NonAdminStatus>> {
    const { channel = status.channel } = draft;
    const response =
      this.automaticOf(status) && (await this.store.setAutomatic(createAutomaticUpdatesBody(draft)));
    if (response && (response.kind !== 'ok' || channel === status.channel)) return response;
    return this.store.setChannel(channel);
  }

  #told(status: Status): string {
    const automatic = this.automaticOf(status);
    const t = this.texts;
    return joinSentences(
      t.saved(t.channelName(status.channel)),
      automatic && formatAutomaticUpdateSettings(automatic, t),
    );
  }
}

/** `<svc-update-channel>`: shows only the choice of the release channel on a settings page. */
export class SvcUpdateChannel extends SvcUpdateSettings {
  protected override automaticOf(): null {
    return null;
  }
}

function fillInput(input: HTMLInputElement, chosen: SettingsDraft[keyof SettingsDraft]): void {
  const { type, value } = input;
  if (type === 'radio') input.checked = value === chosen;
  else if (type === 'checkbox')
    input.checked = Array.isArray(chosen) ? chosen.some((day) => day === value) : chosen === true;
  else if (typeof chosen === 'string' && value !== chosen) input.value = chosen;
}
