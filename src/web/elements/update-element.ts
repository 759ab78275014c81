import type { Connection } from '../connection/connection.ts';
import { connectionTo } from '../connection/connection-to.ts';
import { onTexts } from '../texts.ts';
import { sheet } from './dom.ts';
import { type Herald, heraldOf } from './herald.ts';
import { baseCss } from './style-base.ts';

const usualBase = '/api/v1/instance/update';
const base = sheet(baseCss);

export const addressOf = (base: string | null): string => (base || usualBase).replace(/\/+$/, '');

/** What the elements have in common: an address, a shadow, and that they are drawn anew when something has changed. */
export abstract class UpdateElement extends HTMLElement {
  static readonly observedAttributes: readonly string[] = [
    'base',
    'admin',
    'version',
    'keep-title',
    'settings-url',
    'dump-url',
  ];
  readonly shadow: ShadowRoot;
  #connection: Connection | null = null;
  #stops: (() => void)[] = [];

  constructor(css: CSSStyleSheet) {
    super();
    this.shadow = this.attachShadow({ mode: 'open' });
    this.shadow.adoptedStyleSheets = [base, css];
  }

  protected abstract draw(): void;

  protected get connection(): Connection {
    this.#connection ??= connectionTo(this.address);
    return this.#connection;
  }

  /** Where the endpoints are, however the attribute spells it. */
  get address(): string {
    return addressOf(this.getAttribute('base'));
  }

  protected get herald(): Herald {
    return heraldOf(this.connection);
  }

  connectedCallback(): void {
    if (this.#stops.length > 0) return;
    const draw = () => this.draw();
    this.#stops = [this.connection.listen(draw), onTexts(draw)];
    this.herald.join(this);
    this.draw();
  }

  disconnectedCallback(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.herald.leave(this);
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected || this.#stops.length === 0) return;
    if (name === 'base') {
      this.disconnectedCallback();
      this.#connection = null;
      this.connectedCallback();
    } else {
      this.herald.hear();
      this.draw();
    }
  }
}
