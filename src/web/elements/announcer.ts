/** Milliseconds in which several announcements become one. */
const gathered = 2_000;

/**
 * Says to those who do not see a dialog what it says: in live regions within it, as everything outside is inert. What
 * comes within two seconds of each other is said once, the last of it; what is urgent is said at once.
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

  /** Of a dialog that opens, its first words are read with its heading. */
  begin(text: string): void {
    clearTimeout(this.#timer);
    this.#said = text;
    this.polite.textContent = '';
    this.urgent.textContent = '';
  }
}

function region(role: string, live: string): HTMLElement {
  const element = document.createElement('div');
  element.className = 'hidden';
  element.setAttribute('role', role);
  element.setAttribute('aria-live', live);
  element.setAttribute('aria-atomic', 'true');
  return element;
}
