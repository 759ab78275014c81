import type { Connection } from '../connection/connection.ts';
import { openRun } from '../model/dialog-view.ts';
import { titleView } from '../model/title.ts';
import { texts } from '../texts.ts';
import { span } from '../views/words.ts';

/** Tells the page around of an update: events for its script, and the title of its tab. One for each connection. */
class Herald {
  readonly #connection: Connection;
  readonly #elements = new Set<HTMLElement>();
  #stop = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #openRun: string | null = null;
  #told = new Set<string>();
  /** The page's own title, and what was put in its place. */
  #title: { own: string; shown: string } | null = null;
  /** The version that the page was loaded anew for, until that is read. */
  arrived: string | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  join(element: HTMLElement): void {
    if (this.#elements.size === 0) this.#stop = this.#connection.listen(() => this.hear());
    this.#elements.add(element);
    this.hear();
  }

  leave(element: HTMLElement): void {
    this.#elements.delete(element);
    if (this.#elements.size > 0) return;
    this.#stop();
    clearTimeout(this.#timer);
    this.#setTitle(null);
  }

  /** Gives false where the page has said that it does not want what is told. */
  tell(name: 'start' | 'end' | 'reload', detail: object): boolean {
    const [first] = [...this.#elements].sort((a, b) => Number(isDialog(b)) - Number(isDialog(a)));
    const event = new CustomEvent(`svc-update-${name}`, {
      detail,
      bubbles: true,
      composed: true,
      cancelable: name === 'reload',
    });
    return (first ?? document).dispatchEvent(event);
  }

  hear(): void {
    this.#tellRun();
    this.#showTitle();
  }

  #tellRun(): void {
    const { session } = this.#connection;
    const run = openRun(session);
    const { watched } = session;
    if (run && this.#openRun !== run.id) {
      this.#openRun = run.id;
      this.tell('start', { run });
    }
    if (watched && watched.outcome !== null && !this.#told.has(watched.id)) {
      this.#told.add(watched.id);
      this.#openRun = null;
      this.tell('end', { run: watched });
    }
  }

  #showTitle(): void {
    clearTimeout(this.#timer);
    const view = titleView(this.#connection.session, performance.now(), this.#connection.closedEnds.all());
    const isWanted = ![...this.#elements].some((element) => element.hasAttribute('keep-title'));
    const t = texts();
    const text = {
      percent: () => (view?.kind === 'percent' ? t.titlePercent(view.percent, t.product) : ''),
      updating: () => t.titleUpdating(t.product),
      away: () => (view?.kind === 'away' ? t.titleAway(span(view.absent), t.product) : ''),
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

const heralds = new WeakMap<Connection, Herald>();

export function heraldOf(connection: Connection): Herald {
  const herald = heralds.get(connection) ?? new Herald(connection);
  heralds.set(connection, herald);
  return herald;
}

export type { Herald };
