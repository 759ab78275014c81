import type { TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import { computeServerTime } from '../model/server-clock.ts';
import { PageStore } from '../store/page-store.ts';
import { attributes } from '../tags.ts';
import { addTextsListener, createPageTextsAndFormats } from '../texts.ts';
import { EmbeddingPage } from './embedding-page.ts';
import { baseStyleSheet, createStyleSheet } from './styles.ts';

const defaultEndpointsPath = '/api/v1/instance/update';

export const endpointsPathOf = (base: string | null): string =>
  (base || defaultEndpointsPath).replace(/\/+$/, '');

/** Time in ms after which the colors of the page have changed with an attribute of its root or body. */
const themeChangeMs = 500;

const embeddingPages = new Map<string, EmbeddingPage>();

/** Elements with the same address share one page object and one store. */
function getEmbeddingPage(address: string): EmbeddingPage {
  const embeddingPage = embeddingPages.get(address) ?? new EmbeddingPage(new PageStore(address));
  embeddingPages.set(address, embeddingPage);
  return embeddingPage;
}

/** A server that renders pages imports this module without creating elements, and has no `HTMLElement`. */
const ElementBase = globalThis.HTMLElement ?? class {};

/** Base class of the elements. It redraws the shadow root after each change of the store or the texts. */
export abstract class UpdateElement extends ElementBase {
  static readonly observedAttributes = Object.keys(attributes);
  readonly shadow: ShadowRoot;
  /** Overrides the page's colors. Frameworks remove unknown attributes, and some supported browsers lack custom states. */
  readonly #colorStyleSheet = createStyleSheet('');
  #embeddingPage: EmbeddingPage | null = null;
  #cleanups: (() => void)[] = [];

  constructor(sheet: CSSStyleSheet) {
    super();
    this.shadow = this.attachShadow({ mode: 'open' });
    this.shadow.adoptedStyleSheets = [baseStyleSheet, sheet, this.#colorStyleSheet];
  }

  protected abstract draw(): void;

  /** Returns the path of the server's endpoints without a trailing slash. */
  get address(): string {
    return endpointsPathOf(this.getAttribute('base'));
  }

  protected get embeddingPage(): EmbeddingPage {
    this.#embeddingPage ??= getEmbeddingPage(this.address);
    return this.#embeddingPage;
  }

  protected get store(): PageStore {
    return this.embeddingPage.store;
  }

  /** Returns the texts, in which times are relative to the server's current time. */
  protected get texts(): TextsAndFormats {
    return createPageTextsAndFormats(computeServerTime(this.store.state.clock, performance.now()));
  }

  connectedCallback(): void {
    if (this.#cleanups.length > 0) return;
    const draw = () => {
      this.adaptColors();
      this.draw();
    };
    const themes = new MutationObserver((changes) => {
      // Some pages change a style with every frame.
      if (changes.some(({ attributeName }) => attributeName !== 'style')) setTimeout(draw, themeChangeMs);
    });
    for (const root of [document.documentElement, document.body]) themes.observe(root, { attributes: true });
    this.#cleanups = [this.store.addListener(draw), addTextsListener(draw), () => themes.disconnect()];
    this.embeddingPage.addElement(this);
    draw();
  }

  /**
   * Selects colors that are readable on the background of an element, if those of the page's `color-scheme` are not. With
   * null, the page selects them.
   */
  protected adaptColors(element: Element | null = this): void {
    const sheet = this.#colorStyleSheet;
    sheet.replaceSync('');
    const probe = this.shadow.firstElementChild as HTMLElement;
    const isSchemeDark = readColor('light-dark(#fff, #000)', probe).isDark;
    const isDark = isBackgroundDark(element, probe) ?? isSchemeDark;
    if (isDark !== isSchemeDark) sheet.replaceSync(`:host { color-scheme: ${isDark ? 'dark' : 'light'} }`);
  }

  disconnectedCallback(): void {
    for (const cleanUp of this.#cleanups) cleanUp();
    this.#cleanups = [];
    this.embeddingPage.removeElement(this);
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected || this.#cleanups.length === 0) return;
    if (name === 'base') {
      this.disconnectedCallback();
      this.#embeddingPage = null;
      this.connectedCallback();
    } else {
      this.embeddingPage.reportState();
      this.draw();
    }
  }
}

function isBackgroundDark(element: Element | null, probe: HTMLElement): boolean | null {
  let node: Element | null | undefined = element;
  while (node) {
    const { isDark, alpha } = readColor(getComputedStyle(node).backgroundColor, probe);
    if (alpha > 0.5) return isDark;
    node = node.assignedSlot ?? node.parentElement ?? (node.getRootNode() as Partial<ShadowRoot>).host;
  }
  return null;
}

/** @param probe - an element whose style converts a color in any notation */
function readColor(color: string, probe: HTMLElement): { isDark: boolean; alpha: number } {
  probe.style.columnRuleColor = `color-mix(in lab, ${color}, ${color})`;
  const numbers = getComputedStyle(probe).columnRuleColor.matchAll(/-?[\d.]+(?:e-\d+)?/g);
  const [lightness = 100, , , alpha = 1] = Array.from(numbers, Number);
  return { isDark: lightness < 50, alpha };
}
