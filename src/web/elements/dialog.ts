import type { ButtonAction, Presentation } from '../../presentation/presentation-parts.ts';
import { listMissingSettings } from '../../wire/derived/missing-settings.ts';
import type { Run } from '../../wire/status.ts';
import { copyText } from '../dom/copy-text.ts';
import { patchChildren } from '../dom/patch-children.ts';
import { selectDialogPresentation } from '../model/dialog-presentation.ts';
import type { PageState } from '../model/page-state.ts';
import { formatRunReport } from '../model/run-report.ts';
import {
  findPendingStep,
  findRunIdToReloadAfter,
  findRunInProgress,
  isRollbackRun,
} from '../model/selectors.ts';
import { storeReloadHandover } from '../model/storage.ts';
import { getAuthorization } from '../session.ts';
import { getTexts } from '../texts.ts';
import type { DialogContext, DialogState } from '../views/components.ts';
import { applyConfirmationContent, renderDialogContent } from '../views/dialog-content.ts';
import { renderHistorySection } from '../views/history-section.ts';
import { ScreenReaderAnnouncer } from './announcer.ts';
import { dialogStyleSheet } from './styles.ts';
import { endpointsPathOf, UpdateElement } from './update-element.ts';

/** Time in ms that the user has to read the result before the page reloads. */
const reloadDelayMs = 2_000;

/**
 * `<svc-update-dialog>`: starts an update and shows its progress. The notice opens the dialog with `open()`. The
 * element may be placed anywhere in a page, and moves itself to the end of `body`.
 */
export class SvcUpdateDialog extends UpdateElement {
  readonly #dialog = document.createElement('dialog');
  readonly #announcer = new ScreenReaderAnnouncer();
  readonly #content = document.createElement('div');
  #opener: HTMLElement | null = null;
  #local: DialogState = {};
  #key = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reloadTimer: ReturnType<typeof setTimeout> | undefined;
  /** Keys of actions that are performed only once per run, such as the reload. */
  readonly #done = new Set<string>();
  #isShown = false;
  readonly #sizes = new ResizeObserver(() => this.#letScroll());

  constructor() {
    super(dialogStyleSheet);
    this.#content.className = 'content';
    this.#dialog.setAttribute('aria-labelledby', 'title');
    this.#dialog.append(this.#announcer.polite, this.#announcer.urgent, this.#content);
    this.#dialog.addEventListener('close', () => this.#closed());
    this.shadow.append(this.#dialog);
  }

  override connectedCallback(): void {
    // Move the dialog to `body`, because a collapsed sidebar would hide a dialog inside it.
    if (this.parentElement !== document.body) document.body.append(this);
    else super.connectedCallback();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (!this.isConnected) this.close();
  }

  protected override adaptColors(): void {
    if (this.#isShown) return;
    const isPageScheme = getComputedStyle(document.body).colorScheme !== 'normal';
    const center = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    // In a short page, the center is the root element, although the background belongs to the body.
    super.adaptColors(isPageScheme ? null : (center?.closest('body *') ?? document.body));
  }

  get isOpen(): boolean {
    return this.#isShown;
  }

  /**
   * Opens the dialog if it is not open.
   * @param opener - the element to focus when the dialog closes
   */
  open(opener: HTMLElement | null = null): void {
    if (this.#isShown || !this.isConnected) return;
    this.adaptColors();
    this.#isShown = true;
    this.#opener = opener;
    this.#local = {};
    this.#key = '';
    this.store.setDialogOpen(true);
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
    this.store.setDialogOpen(false);
    if (this.#opener?.isConnected) this.#opener.focus();
  }

  protected draw(): void {
    const { store } = this;
    const { state } = store;
    if (state.loggedOut) this.#forget();
    if (!this.#isShown) return;
    const { isCancelSent = false, isReloadPrevented = false } = this.#local;
    const page = {
      now: performance.now(),
      dismissed: store.dismissedRuns.all(),
      isChecking: store.isChecking,
      isCancelSent,
      isReloadPrevented,
      backupPage: this.getAttribute('dump-url'),
    };
    const shown = selectDialogPresentation(state, page, this.texts);
    this.#prepare(shown);
    this.#show(shown);
    clearTimeout(this.#timer);
    if ((shown.ticks || state.outage !== null) && document.visibilityState !== 'hidden')
      this.#timer = setTimeout(() => this.draw(), 1000);
  }

  /** A closed dialog keeps its content until the session ends. */
  #forget(): void {
    this.#local = {};
    clearTimeout(this.#reloadTimer);
    if (this.#isShown) return;
    patchChildren(this.#content, []);
    this.#announcer.setInitialText('');
  }

  #show(presentation: Presentation): void {
    const { key = presentation.kind } = presentation;
    const focused = this.shadow.activeElement;
    const isFirst = this.#key === '';
    if (this.#key !== key && !isFirst)
      this.#local = { ...this.#local, isConfirming: false, report: undefined, copied: undefined };
    const { state } = this.store;
    const context = this.#context();
    const shown = applyConfirmationContent(presentation, context);
    const { heading, announcement = heading, isUrgent = false } = shown;
    patchChildren(this.#content, [
      renderDialogContent(shown, { closing: closeLabelOf(state), close: () => this.close() }, context),
      renderHistorySection(state, context),
    ]);
    this.#key = key;
    const body = this.#content.querySelector('.body');
    this.#sizes.disconnect();
    if (body) this.#sizes.observe(body);
    if (isFirst) this.#announcer.setInitialText(announcement);
    else this.#announcer.announce(announcement, isUrgent);
    // If the focused element was removed, focus the heading. Unlike a button, the heading cannot be pressed by mistake.
    if (focused !== null && this.shadow.activeElement === null && this.#dialog.open) this.#heading()?.focus();
  }

  /** Makes a scrollable body focusable, so that users can scroll it with the keyboard. */
  #letScroll(): void {
    const body = this.#content.querySelector('.body');
    if (!body) return;
    if (body.scrollHeight > body.clientHeight + 1) body.setAttribute('tabindex', '0');
    else body.removeAttribute('tabindex');
  }

  #heading(): HTMLElement | null {
    return this.#content.querySelector('h2');
  }

  /** Requests the log lines after a failed run, or schedules the reload after a successful run. */
  #prepare({ reportedRun }: Presentation): void {
    const { store } = this;
    if (store.state.isUpdating) this.#local = { ...this.#local, values: undefined };
    if (reportedRun && this.#isFirst(`lines ${reportedRun.id}`))
      void store.logLines.fetchLines(reportedRun.id);
    const run = findRunIdToReloadAfter(store.state);
    if (run !== null && this.#isFirst(`reload ${run}`))
      this.#reloadTimer = setTimeout(() => this.#reload(run), reloadDelayMs);
  }

  #isFirst(what: string): boolean {
    const isFirst = !this.#done.has(what);
    this.#done.add(what);
    return isFirst;
  }

  /** Reloads the page, unless a script on the page prevents the reload. */
  #reload(run: string): void {
    const { state } = this.store;
    const isWanted = this.embeddingPage.dispatch('reload', { run: state.watched, version: state.version });
    if (isWanted) {
      storeReloadHandover(() => sessionStorage, { run, queued: state.queued });
      location.reload();
    } else this.#set({ isReloadPrevented: true });
  }

  #set(change: DialogState): void {
    this.#local = { ...this.#local, ...change };
    this.draw();
  }

  #context(): DialogContext {
    return {
      t: this.texts,
      local: this.#local,
      settingsUrl: this.getAttribute('settings-url'),
      // A link cannot send the header.
      reportUrl: getAuthorization ? null : `${this.address}/report`,
      set: (change) => this.#set(change),
      press: (request) => void this.#press(request),
      copy: (event, id) => void this.#copy(event, id),
    };
  }

  async #press(request: ButtonAction): Promise<void> {
    const { store } = this;
    switch (request.kind) {
      case 'start':
      case 'rehearse':
        return this.#start(request);
      case 'cancel-rehearsal':
        return store.cancelRehearsal();
      case 'rollback':
        return store.rollback(request.order);
      case 'check-rollback':
        return store.checkRollback(request.to);
      case 'try-again': {
        const { run, order } = request;
        if (order !== null) return store.start(order, run.id);
        store.dismiss(run.id);
        return isRollbackRun(run) && run.to !== null ? store.checkRollback(run.to) : store.checkForReleases();
      }
      case 'skip':
        return store.skip(request.version);
      case 'confirm':
        return this.#set({ isConfirming: request.isConfirming });
      case 'dismiss':
        this.close();
        return store.dismiss(request.run.id);
      case 'report':
        return this.#copyReport(request.run);
      case 'cancel':
        this.#set({ isCancelSent: true });
        await store.cancel();
        // If the cancellation was refused or its response was lost, let the user press the button again.
        return this.#set({ isCancelSent: false });
      case 'check':
        return store.checkForReleases();
      case 'close':
        return this.close();
      case 'reload': {
        const { watched } = store.state;
        return watched?.outcome === 'updated' ? this.#reload(watched.id) : location.reload();
      }
    }
  }

  /** Starts an update or a rehearsal if all required new settings have a value. */
  #start({ kind, order }: ButtonAction & { kind: 'start' | 'rehearse' }): void {
    const { values } = this.#local;
    const listed = this.store.state.status?.next?.settings ?? [];
    const [lacking] = listMissingSettings(listed, values);
    if (lacking) {
      this.#set({ lacking: lacking.name, isConfirming: false });
      this.#content.querySelector<HTMLElement>('[aria-invalid]')?.focus();
      return;
    }
    // Keep the values that the user has typed, because the server may still refuse the update.
    this.#local = { values };
    const given = listed.flatMap(({ name }) => (values?.[name] ? [[name, values[name]]] : []));
    const settings = given.length === 0 ? {} : { settings: Object.fromEntries(given) };
    if (kind === 'start') void this.store.start({ ...order, ...settings });
    else void this.store.rehearse({ ...order, ...settings });
  }

  async #copy(event: Event, id: string): Promise<void> {
    const code = (event.currentTarget as Element).previousElementSibling;
    this.#set({ copied: { id, isCopied: await copyText(code?.textContent ?? '', () => code) } });
  }

  async #copyReport(run: Run): Promise<void> {
    const { store } = this;
    const text = formatRunReport(run, store.state.version, await store.logLines.fetchLines(run.id));
    const isCopied = await copyText(text, () => {
      this.#set({ report: text });
      return this.#content.querySelector('textarea');
    });
    this.#set({ copied: { id: 'report', isCopied } });
  }
}

function closeLabelOf(state: PageState): string {
  const t = getTexts();
  if (!state.isUpdating && !findPendingStep(state)) return t.close;
  return isRollbackRun(findRunInProgress(state)) ? t.closeDuringRollback : t.closeDuringUpdate;
}

/**
 * Opens the dialog for the endpoints at `base`. If no such dialog exists, creates one with the attributes of the
 * opener.
 */
export function openUpdateDialog(base: string | null, opener: HTMLElement | null = null): SvcUpdateDialog {
  const found = [...document.querySelectorAll<SvcUpdateDialog>('svc-update-dialog')].find(
    (dialog) => dialog.address === endpointsPathOf(base),
  );
  const dialog = found ?? (document.createElement('svc-update-dialog') as SvcUpdateDialog);
  if (!found) {
    for (const name of ['base', 'settings-url', 'dump-url', 'keep-title']) {
      const value = opener?.getAttribute(name);
      if (value !== null && value !== undefined) dialog.setAttribute(name, value);
    }
    if (base !== null) dialog.setAttribute('base', base);
    document.body.append(dialog);
  }
  dialog.open(opener);
  return dialog;
}
