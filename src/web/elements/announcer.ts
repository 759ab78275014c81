/** Delay in ms of a polite announcement. A new announcement within this time replaces the delayed announcement. */
const announcementDelayMs = 2_000;

/**
 * Announces the state of a dialog to screen readers (docs/contract.md 10.8). The live regions must be inside the
 * dialog, because everything outside is inert.
 */
export class ScreenReaderAnnouncer {
  readonly polite = createLiveRegion('status', 'polite');
  readonly urgent = createLiveRegion('alert', 'assertive');
  #said = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  announce(text: string, isUrgent: boolean): void {
    if (text === this.#said) return;
    this.#said = text;
    clearTimeout(this.#timer);
    this.polite.textContent = '';
    if (isUrgent) this.urgent.textContent = text;
    else {
      this.urgent.textContent = '';
      this.#timer = setTimeout(() => {
        this.polite.textContent = text;
      }, announcementDelayMs);
    }
  }

  /** Records the text without announcing it, because screen readers read it anyway when the dialog opens. */
  setInitialText(text: string): void {
    clearTimeout(this.#timer);
    this.#said = text;
    this.polite.textContent = '';
    this.urgent.textContent = '';
  }
}

function createLiveRegion(role: string, ariaLive: string): HTMLElement {
  const hidden = { className: 'hidden', role, ariaLive, ariaAtomic: 'true' };
  return Object.assign(document.createElement('div'), hidden);
}
