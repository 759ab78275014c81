/** Time in ms within which several announcements are merged into one announcement. */
const gathered = 2_000;

/**
 * Announces the state of a dialog to screen readers (docs/contract.md 10.8). The live regions are inside the dialog,
 * because everything outside is inert. Of several announcements within two seconds, only the last is made. Urgent
 * announcements are made immediately.
 */
export class Announcer {
  readonly polite = region('status', 'polite');
  readonly urgent = region('alert', 'assertive');
  #said = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  say(text: string, isUrgent: boolean): void {
    if (text === this.#said) return;
    this.#said = text;
    clearTimeout(this.#timer);
    if (isUrgent) this.urgent.textContent = text;
    else {
      this.urgent.textContent = '';
      this.#timer = setTimeout(() => {
        this.polite.textContent = text;
      }, gathered);
    }
  }

  /** Sets the text without an announcement, because a screen reader reads the text anyway when the dialog opens. */
  begin(text: string): void {
    clearTimeout(this.#timer);
    this.#said = text;
    this.polite.textContent = '';
    this.urgent.textContent = '';
  }
}

function region(role: string, ariaLive: string): HTMLElement {
  const hidden = { className: 'hidden', role, ariaLive, ariaAtomic: 'true' };
  return Object.assign(document.createElement('div'), hidden);
}
