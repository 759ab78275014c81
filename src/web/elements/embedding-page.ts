import { findRunInProgress } from '../model/selectors.ts';
import type { PageStore } from '../store/page-store.ts';
import { createPageTextsAndFormats } from '../texts.ts';
import { formatTabTitle } from '../views/tab-title.ts';

/**
 * Page that contains the elements. Reports updates to the page's scripts with events, and to the user in the tab title.
 */
export class EmbeddingPage {
  readonly store: PageStore;
  readonly #elements = new Set<HTMLElement>();
  #stop = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #openRun: string | null = null;
  readonly #endedRuns = new Set<string>();
  /** `own` is the page's title, and `shown` is the title that replaces it. Null while the page's own title is shown. */
  #title: { own: string; shown: string } | null = null;
  /**
   * New version, set when the page was reloaded after an update. Null again after the message about the update is
   * closed.
   */
  versionAfterReload: string | null = null;

  constructor(store: PageStore) {
    this.store = store;
  }

  addElement(element: HTMLElement): void {
    if (this.#elements.size === 0) this.#stop = this.store.addListener(() => this.reportState());
    this.#elements.add(element);
    this.reportState();
  }

  removeElement(element: HTMLElement): void {
    this.#elements.delete(element);
    if (this.#elements.size > 0) return;
    this.#stop();
    clearTimeout(this.#timer);
    this.#setTitle(null);
  }

  /**
   * Dispatches the event on the dialog, or on another element if there is no dialog. Returns false if a script on the
   * page has prevented the default action.
   */
  dispatch(name: 'start' | 'end' | 'reload', detail: object): boolean {
    const elements = [...this.#elements];
    const target = elements.find(({ localName }) => localName === 'svc-update-dialog') ?? elements[0];
    const event = new CustomEvent(`svc-update-${name}`, {
      detail,
      bubbles: true,
      composed: true,
      cancelable: name === 'reload',
    });
    return (target ?? document).dispatchEvent(event);
  }

  reportState(): void {
    const { state } = this.store;
    if (state.loggedOut) this.versionAfterReload = null;
    const run = findRunInProgress(state);
    const { watched } = state;
    if (run && this.#openRun !== run.id) {
      this.#openRun = run.id;
      this.dispatch('start', { run });
    }
    if (watched && watched.outcome !== null && !this.#endedRuns.has(watched.id)) {
      this.#endedRuns.add(watched.id);
      this.#openRun = null;
      this.dispatch('end', { run: watched });
    }
    this.#showTitle();
  }

  #showTitle(): void {
    clearTimeout(this.#timer);
    const { state, dismissedRuns: dismissed } = this.store;
    const isWanted = ![...this.#elements].some((element) => element.hasAttribute('keep-title'));
    const t = createPageTextsAndFormats(null);
    const page = { now: performance.now(), dismissed: dismissed.all() };
    const arrived =
      this.versionAfterReload === null ? null : t.titleUpdated(this.versionAfterReload, t.product);
    this.#setTitle(isWanted ? (formatTabTitle(state, page, t) ?? arrived) : null);
    // During an outage, the title is updated every second, because it may contain the outage's duration.
    if (state.outage !== null && document.visibilityState !== 'hidden')
      this.#timer = setTimeout(() => this.#showTitle(), 1000);
  }

  #setTitle(text: string | null): void {
    // If a script on the page has changed the title in the meantime, restore the title of the script later.
    const own = this.#title && document.title === this.#title.shown ? this.#title.own : document.title;
    if (text === null) {
      if (this.#title) document.title = own;
      this.#title = null;
    } else {
      this.#title = { own, shown: text };
      if (document.title !== text) document.title = text;
    }
  }
}
