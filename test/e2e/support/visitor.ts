import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';

/** Seconds that something may take to be seen: an update beside other tests is slow. */
const patience = 120;

/** Where a person can look at what was on the screen; git ignores it. */
const pictures = fileURLToPath(new URL('../../../.cache/screens/', import.meta.url));

interface Sight {
  /** What the picture is called. */
  picture?: string;
}

/** Somebody at a browser of their own. */
export class Visitor {
  readonly page: Page;
  readonly #name: string;
  /** What the browser complained of: a script that fails, or something that the page's policy forbids. */
  readonly complaints: string[] = [];

  private constructor(name: string, page: Page) {
    this.#name = name;
    this.page = page;
    page.on('pageerror', ({ message }) => this.complaints.push(message));
    page.on('console', (line) => {
      // While svc is away its answers are errors, which is what they should be.
      const isAnswer = /^Failed to load resource/.test(line.text());
      if (line.type() === 'error' && !isAnswer) this.complaints.push(line.text());
    });
  }

  static async arrive(browser: Browser, name: string): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
    context.setDefaultTimeout(patience * 1000);
    return new Visitor(name, await context.newPage());
  }

  /** Waits until it can be seen, and keeps a picture of it where one is named. */
  async sees(text: string | RegExp, { picture }: Sight = {}): Promise<void> {
    await this.#shown(this.page.getByText(text), `${text}`);
    if (picture !== undefined) await this.picture(picture);
  }

  /** A button, by what it is called for those who do not see it. */
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

  /** By the button with that word, in the dialog or in what the notice tells once. */
  async close(what: 'dialog' | 'notice' = 'dialog'): Promise<void> {
    const place = what === 'dialog' ? 'dialog[open]' : 'svc-update-notice';
    const button = this.page.locator(place).getByText('Close', { exact: true });
    await (await this.#shown(button, `Close in the ${what}`)).click();
  }

  async #shown(locator: Locator, what: string): Promise<Locator> {
    const found = locator.filter({ visible: true }).first();
    await found.waitFor({ timeout: patience * 1000 }).catch(async (cause) => {
      await this.picture('missing');
      // The elements' text is in their shadows, which the page's own text does not have.
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
