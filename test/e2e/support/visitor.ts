import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';

/** Maximum time in seconds until something is visible: an update is slow while other tests run. */
const patience = 120;

/** Directory of the screenshots; git ignores it. */
const pictures = fileURLToPath(new URL('../../../.cache/screens/', import.meta.url));

interface Sight {
  /** The name of the screenshot. */
  picture?: string;
}

/** A user with a separate browser context. */
export class Visitor {
  readonly page: Page;
  readonly #name: string;
  /** Errors in the browser: a script that fails, or a violation of the content security policy. */
  readonly complaints: string[] = [];

  private constructor(name: string, page: Page) {
    this.#name = name;
    this.page = page;
    page.on('pageerror', ({ message }) => this.complaints.push(message));
    page.on('console', (line) => {
      // While svc is unavailable, its responses are expected to be errors.
      const isAnswer = /^Failed to load resource/.test(line.text());
      if (line.type() === 'error' && !isAnswer) this.complaints.push(line.text());
    });
  }

  static async arrive(browser: Browser, name: string): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
    context.setDefaultTimeout(patience * 1000);
    return new Visitor(name, await context.newPage());
  }

  /** Waits until the text is visible, and takes a screenshot if `picture` is set. */
  async sees(text: string | RegExp, { picture }: Sight = {}): Promise<void> {
    await this.#shown(this.page.getByText(text), `${text}`);
    if (picture !== undefined) await this.picture(picture);
  }

  /** Waits for a button, found by its accessible name. */
  async seesButton(name: string | RegExp, { picture }: Sight = {}): Promise<void> {
    await this.#shown(this.button(name), `a button ${name}`);
    if (picture !== undefined) await this.picture(picture);
  }

  async press(name: string | RegExp): Promise<void> {
    const button = await this.#shown(this.button(name), `a button ${name}`);
    await button.click();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  /** Presses the button `Close` in the dialog or in the toast of the notice. */
  async close(what: 'dialog' | 'notice' = 'dialog'): Promise<void> {
    const place = what === 'dialog' ? 'dialog[open]' : 'svc-update-notice';
    const button = this.page.locator(place).getByText('Close', { exact: true });
    await (await this.#shown(button, `Close in the ${what}`)).click();
  }

  async #shown(locator: Locator, what: string): Promise<Locator> {
    const found = locator.filter({ visible: true }).first();
    await found.waitFor({ timeout: patience * 1000 }).catch(async (cause) => {
      await this.picture('missing');
      // The text of the elements is in shadow roots, not in the text of the page.
      const said = await Promise.all([
        this.page.locator('body').allInnerTexts(),
        this.page
          .locator('svc-update-notice > *, svc-update-notice button, svc-update-notice span')
          .allInnerTexts(),
        this.page.locator('dialog[open]').allInnerTexts(),
      ]);
      const seen = said.map((texts) => texts.join(' | ')).join('\n--\n');
      throw new Error(`${this.#name} does not see ${what} after ${patience} s, but\n${seen}`, { cause });
    });
    return found;
  }

  async picture(name: string): Promise<void> {
    await mkdir(join(pictures, 'platform'), { recursive: true });
    await this.page.screenshot({ path: join(pictures, 'platform', `${name}.png`), animations: 'disabled' });
  }
}
