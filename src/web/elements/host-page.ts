import { openRun } from '../model/dialog-view.ts';
import { titleView } from '../model/title.ts';
import type { Store } from '../store/store.ts';
import { texts } from '../texts.ts';
import { duration } from '../views/format.ts';

/** Tells the page around of an update: events for its script, and the title of its tab. One for each store. */
class HostPage {
  readonly #store: Store;
  readonly #elements = new Set<HTMLElement>();
  #stop = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #openRun: string | null = null;
  #endedRuns = new Set<string>();
  /** The page's own title, and what was put in its place. */
  #title: { own: string; shown: string } | null = null;
  /** The version that the page was loaded anew for, until that is read. */
  arrived: string | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  join(element: HTMLElement): void {
    if (this.#elements.size === 0) this.#stop = this.#store.listen(() => this.update());
    this.#elements.add(element);
    this.update();
  }

  leave(element: HTMLElement): void {
    this.#elements.delete(element);
    if (this.#elements.size > 0) return;
    this.#stop();
    clearTimeout(this.#timer);
    this.#setTitle(null);
  }

  /** Gives false where the page has said that it does not want what is told. */
  dispatch(name: 'start' | 'end' | 'reload', detail: object): boolean {
    const [first] = [...this.#elements].sort((a, b) => Number(isDialog(b)) - Number(isDialog(a)));
    const event = new CustomEvent(`svc-update-${name}`, {
      detail,
      bubbles: true,
      composed: true,
      cancelable: name === 'reload',
    });
    return (first ?? document).dispatchEvent(event);
  }

  update(): void {
    this.#dispatchRun();
    this.#showTitle();
  }

  #dispatchRun(): void {
    const { state } = this.#store;
    const run = openRun(state);
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
  }

  #showTitle(): void {
    clearTimeout(this.#timer);
    const view = titleView(this.#store.state, performance.now(), this.#store.dismissed.all());
    const isWanted = ![...this.#elements].some((element) => element.hasAttribute('keep-title'));
    const t = texts();
    const text = {
      percent: () => (view?.kind === 'percent' ? t.titlePercent(view.percent, t.product) : ''),
      updating: () => t.titleUpdating(t.product),
      away: () => (view?.kind === 'away' ? t.titleAway(duration(view.absent), t.product) : ''),
      updated: () => (view?.kind === 'updated' ? t.titleUpdated(view.version, t.product) : ''),
      ended: () => t.titleEnded(t.product),
    };
    const arrived = this.arrived === null ? null : t.titleUpdated(this.arrived, t.product);
    this.#setTitle(isWanted ? (view === null ? arrived : text[view.kind]()) : null);
    if (view?.kind === 'away' && document.visibilityState !== 'hidden')
      this.#timer = setTimeout(() => this.#showTitle(), 1000);
  }

  #setTitle(text: string | null): void {
    // The page may have set another one meanwhile: that is its own then.
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

const isDialog = (element: HTMLElement): boolean => element.localName === 'svc-update-dialog';

const hostPages = new WeakMap<Store, HostPage>();

export function hostPageOf(store: Store): HostPage {
  const hostPage = hostPages.get(store) ?? new HostPage(store);
  hostPages.set(store, hostPage);
  return hostPage;
}

export type { HostPage };
