/** Milliseconds in which several announcements become one. */
const gathered = 2_000;

/**
 * Says to those who do not see a dialog what it shows (docs/contract.md 10.8). Its live regions are within the dialog, as
 * everything outside is inert. Of several announcements within two seconds the last one is said; an urgent one at once.
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

  /** A screen reader reads the first words of a dialog that opens with its heading: they are not said again. */
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
