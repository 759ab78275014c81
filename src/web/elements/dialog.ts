import { serverTime } from '../model/ages.ts';
import type { DialogView } from '../model/dialog-states.ts';
import { dialogView } from '../model/dialog-view.ts';
import { leave, reloadFor } from '../model/reload.ts';
import { reportText } from '../model/report.ts';
import { frame } from '../views/frame.ts';
import { pastNode } from '../views/past.ts';
import type { Scene, Stage, Whims } from '../views/pieces.ts';
import { sceneOf } from '../views/scene.ts';
import { Announcer } from './announcer.ts';
import { copyText } from './copy.ts';
import { patch, sheet } from './dom.ts';
import { dialogCss } from './style-dialog.ts';
import { UpdateElement } from './update-element.ts';

/** Milliseconds for which a person may read that a new version runs before the page is loaded anew. */
const reading = 2_000;

const freshWhims: Whims = {
  isConfirming: false,
  isUnfolded: false,
  isCancelSent: false,
  copied: null,
  stays: false,
  report: null,
};

const css = sheet(dialogCss);

/**
 * `<svc-update-dialog>`: starts an update and shows how it goes. Opened by `open()`, as the notice does; it may be put
 * anywhere in a page, and moves to the end of `body`.
 */
export class SvcUpdateDialog extends UpdateElement {
  readonly #dialog = document.createElement('dialog');
  readonly #announcer = new Announcer();
  readonly #content = document.createElement('div');
  #opener: HTMLElement | null = null;
  #whims = freshWhims;
  #key = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reloadTimer: ReturnType<typeof setTimeout> | undefined;
  /** The runs for whose end the page was to be loaded anew already. */
  readonly #reloadedFor = new Set<string>();
  /** The runs whose last lines were asked for. */
  readonly #linesAsked = new Set<string>();
  #isShown = false;
  readonly #sizes = new ResizeObserver(() => this.#letScroll());

  constructor() {
    super(css);
    this.#content.className = 'content';
    this.#dialog.setAttribute('aria-labelledby', 'title');
    this.#dialog.append(this.#announcer.polite, this.#announcer.urgent, this.#content);
    this.#dialog.addEventListener('close', () => this.#closed());
    this.shadow.append(this.#dialog);
  }

  override connectedCallback(): void {
    // Within a sidebar that is folded away, it would not be seen.
    if (this.parentElement !== document.body) document.body.append(this);
    else super.connectedCallback();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (!this.isConnected) this.close();
  }

  get isOpen(): boolean {
    return this.#isShown;
  }

  /** Opens it, where it is not open yet. @param opener gets the focus back */
  open(opener: HTMLElement | null = null): void {
    if (this.#isShown || !this.isConnected) return;
    this.#isShown = true;
    this.#opener = opener;
    this.#whims = freshWhims;
    this.#key = '';
    this.connection.showDialog(true);
    this.draw();
    this.#dialog.showModal();
    this.#heading()?.focus();
  }

  close(): void {
    if (this.#dialog.open) this.#dialog.close();
  }

  #closed(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    clearTimeout(this.#timer);
    clearTimeout(this.#reloadTimer);
    this.connection.showDialog(false);
    if (this.#opener?.isConnected) this.#opener.focus();
  }

  protected draw(): void {
    if (!this.#isShown) return;
    const { connection } = this;
    const { session } = connection;
    const now = performance.now();
    const view = dialogView(session, { now, closedEnds: connection.closedEnds.all() });
    this.#prepare(view);
    const { status } = session;
    const stage = this.#stage(view);
    const news = status?.latest?.version === session.version ? (status?.latest?.url ?? null) : null;
    const scene = sceneOf(view, stage, news);
    this.#show(scene, stage);
    clearTimeout(this.#timer);
    if ((scene.ticks || session.absence !== null) && document.visibilityState !== 'hidden')
      this.#timer = setTimeout(() => this.draw(), 1000);
  }

  #show(scene: Scene, stage: Stage): void {
    const focused = this.shadow.activeElement;
    const isFirst = this.#key === '';
    if (this.#key !== scene.key && !isFirst)
      this.#whims = { ...this.#whims, isConfirming: false, report: null, copied: null };
    const isOn = this.connection.session.isUpdating;
    const past = pastNode(this.connection.session, stage, this.getAttribute('settings-url'));
    patch(
      this.#content,
      frame(scene, isOn, () => this.close(), past),
    );
    this.#key = scene.key;
    const body = this.#content.querySelector('.body');
    this.#sizes.disconnect();
    if (body) this.#sizes.observe(body);
    if (isFirst) this.#announcer.begin(scene.told);
    else this.#announcer.say(scene.told, scene.isUrgent ?? false);
    // What had the focus is gone: the heading is what nobody presses by mistake.
    if (focused !== null && this.shadow.activeElement === null && this.#dialog.open) this.#heading()?.focus();
  }

  /** What can be scrolled has to be reached by keyboard. */
  #letScroll(): void {
    const body = this.#content.querySelector('.body');
    if (!body) return;
    if (body.scrollHeight > body.clientHeight + 1) body.setAttribute('tabindex', '0');
    else body.removeAttribute('tabindex');
  }

  #heading(): HTMLElement | null {
    return this.#content.querySelector('h2');
  }

  /** What a view wants to have done, once. */
  #prepare(view: DialogView): void {
    const { connection } = this;
    if ((view.kind === 'failed' || view.kind === 'broken') && !this.#linesAsked.has(view.run.id)) {
      this.#linesAsked.add(view.run.id);
      void connection.linesOf(view.run);
    }
    const run = reloadFor(connection.session);
    if (run === null || this.#reloadedFor.has(run)) return;
    this.#reloadedFor.add(run);
    this.#reloadTimer = setTimeout(() => this.#reload(run), reading);
  }

  /** The page is loaded anew, unless it has another idea of what to do then. */
  #reload(run: string): void {
    const { session } = this.connection;
    const isWanted = this.herald.tell('reload', { run: session.watched, version: session.version });
    if (!isWanted) {
      this.#set({ stays: true });
      return;
    }
    leave(() => sessionStorage, { run, queued: session.queued });
    location.reload();
  }

  #set(change: Partial<Whims>): void {
    this.#whims = { ...this.#whims, ...change };
    this.draw();
  }

  #stage(view: DialogView): Stage {
    const { connection } = this;
    return {
      whims: this.#whims,
      now: serverTime(connection.session.clock, performance.now()),
      isChecking: connection.isChecking,
      dumpUrl: this.getAttribute('dump-url'),
      set: (change) => this.#set(change),
      start: (target, how) => {
        this.#whims = freshWhims;
        void connection.start({ target, ...how });
      },
      cancel: () => {
        this.#set({ isCancelSent: true });
        // What came of it is in the session by then. Where it was refused, or its answer got lost, it may be pressed again.
        void connection.cancel().then(() => this.#set({ isCancelSent: false }));
      },
      check: () => void connection.check(),
      close: (end) => {
        this.close();
        if (end !== undefined) connection.closeEnd(end);
      },
      tryAgain: (run, target) => {
        if (target !== null) void connection.start({ target }, run);
        else {
          connection.closeEnd(run);
          void connection.check();
        }
      },
      reload: () => {
        const { watched } = connection.session;
        if (watched?.outcome === 'updated') this.#reload(watched.id);
        else location.reload();
      },
      copy: (event, id) => void this.#copy(event, id),
      copyReport: () => {
        if ('run' in view) void this.#copyReport(view);
      },
    };
  }

  async #copy(event: Event, id: string): Promise<void> {
    const code = (event.currentTarget as Element | null)?.parentElement?.querySelector('code') ?? null;
    if (!code) return;
    this.#set({ copied: { id, isCopied: await copyText(code.textContent ?? '', () => code) } });
  }

  async #copyReport({ run }: Extract<DialogView, { run: unknown }>): Promise<void> {
    const { connection } = this;
    const text = reportText(run, connection.session.version, await connection.linesOf(run));
    const isCopied = await copyText(text, () => {
      this.#set({ report: text });
      return this.#content.querySelector('textarea');
    });
    this.#set({ copied: { id: 'report', isCopied } });
  }
}
