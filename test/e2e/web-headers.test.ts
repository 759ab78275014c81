import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openBrowser, stickingOut, visit } from '../rig/web/browser.ts';
import { headerPages } from '../rig/web/header-pages.ts';
import { anna, history, latest, releases } from '../rig/web/scenes.ts';

// The notice in the headers of products, and its colors (docs/web.md).

/** The machine may be busy. */
const patient = { timeout: 30_000 };

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const script = { status: { latest }, releases, history, authorize: () => anna };
const notice = '<svc-update-notice admin version="v1.4.2"></svc-update-notice>';
const pill = (page: Page) => page.getByRole('button', { name: 'Update to v1.5.0' });
const version = (page: Page) => page.locator('svc-update-notice .version');
const schemeOf = (page: Page, selector: string): Promise<string> =>
  page.locator(selector).evaluate((one) => one.ownerDocument.defaultView.getComputedStyle(one).colorScheme);
/** Whether an element of the page has a single line, and no text that is cut off. */
const isWhole = (page: Page, selector: string): Promise<boolean> =>
  page.locator(selector).evaluate((one) => one.clientHeight < 36 && one.scrollWidth <= one.clientWidth + 1);

describe.concurrent('a page', () => {
  it.for(headerPages)('is left as it is: $name', async (header, { expect }) => {
    const { css, body, isDark, isNoticeDark = isDark, isRail = false } = header;
    const options = { wholeBody: body.replace('NOTICE', notice), files: { '/page.css': css } };
    await visit(browser, script, options, async ({ page, complaints }) => {
      await pill(page).waitFor();
      for (const width of [1280, 375, 320]) {
        await page.setViewportSize({ width, height: 720 });
        const isShort = width < 1280 || isRail;
        await expect.poll(() => version(page).isVisible(), patient).toBe(!isShort);
        expect(await isWhole(page, '[part=bar]')).toBe(true);
        expect((await pill(page).boundingBox())?.height).toBeLessThan(36);
        // A title that shortens itself is whole only if there is room.
        if (width === 1280 || !header.hasLongTitle) expect(await isWhole(page, 'h1')).toBe(true);
        expect(await stickingOut(page)).toEqual([]);
      }
      expect(await schemeOf(page, 'svc-update-notice')).toBe(isNoticeDark ? 'dark' : 'normal');
      await page.setViewportSize({ width: 1280, height: 720 });
      await pill(page).click();
      await page.getByRole('dialog').getByText('queue position').waitFor();
      expect(await schemeOf(page, 'svc-update-dialog')).toBe(isDark ? 'dark' : 'normal');
      expect(complaints).toEqual([]);
    });
  });

  it('has a header with text styles of its own, which do not change the notice', async ({ expect }) => {
    const css = `:root { font-size: 62.5% } body { margin: 0 } header { display: flex; height: 80px; text-align: center;
      text-transform: uppercase; white-space: nowrap; letter-spacing: 3px; -webkit-text-fill-color: transparent }`;
    const options = { wholeBody: `<header>${notice}</header>`, files: { '/page.css': css } };
    await visit(browser, script, options, async ({ page }) => {
      const { y = 0, height = 0 } = (await pill(page).boundingBox()) ?? {};
      expect(y + height / 2).toBeCloseTo(40, 0);
      const styleOf = (selector: string): Promise<string[]> =>
        page.locator(selector).evaluate((one) => {
          const style = one.ownerDocument.defaultView.getComputedStyle(one);
          return [
            style.textAlign,
            style.textTransform,
            style.whiteSpace,
            style.letterSpacing,
            style.fontSize,
          ];
        });
      expect(await styleOf('svc-update-notice .toast')).toEqual([
        'start',
        'none',
        'normal',
        'normal',
        '14px',
      ]);
      const fill = "getComputedStyle(document.querySelector('svc-update-notice')).webkitTextFillColor";
      expect(await page.evaluate(fill)).not.toBe('rgba(0, 0, 0, 0)');
      await page.evaluate("document.querySelector('header').style.visibility = 'hidden'");
      expect(await pill(page).isVisible()).toBe(false);
    });
  });

  it('changes its theme, and the elements follow', async ({ expect }) => {
    const css =
      'body { background: #fff; transition: background .2s } .dark body { background: #111; color: #eee }';
    const options = { body: '<svc-update-settings></svc-update-settings>', files: { '/page.css': css } };
    await visit(browser, script, options, async ({ page }) => {
      await pill(page).waitFor();
      const schemes = async () => [
        await schemeOf(page, 'svc-update-notice'),
        await schemeOf(page, 'svc-update-settings'),
      ];
      expect(await schemes()).toEqual(['normal', 'normal']);
      await page.evaluate("document.documentElement.className = 'dark'");
      await expect.poll(schemes, patient).toEqual(['dark', 'dark']);
      await page.evaluate("document.documentElement.className = ''");
      await expect.poll(schemes, patient).toEqual(['normal', 'normal']);
    });
  });

  it('shows the elements in a browser that lacks custom states and URL.parse', async ({ expect }) => {
    const notes = 'See [the guide](https://example.org/guide)';
    const options = {
      wholeBody: `${notice}<svc-update-notice id="empty" base="/none"></svc-update-notice>`,
      files: { '/page.css': 'body { background: #111 }' },
      prepare: (page: Page) =>
        page.addInitScript('delete HTMLElement.prototype.attachInternals; delete URL.parse'),
    };
    const linked = { ...script, releases: [{ ...latest, notes }] };
    await visit(browser, linked, options, async ({ page, complaints }) => {
      await pill(page).click();
      await page.getByRole('link', { name: 'the guide' }).waitFor();
      expect(await schemeOf(page, 'svc-update-dialog')).toBe('dark');
      expect(await schemeOf(page, 'svc-update-notice >> nth=0')).toBe('dark');
      expect(await page.locator('#empty').isVisible()).toBe(false);
      expect(complaints).toEqual([]);
    });
  });

  it.for([
    ['by its background', ':root { color-scheme: light } body { background: #111 }', 'dark'],
    ['by a light header of a dark page', ':root { color-scheme: dark } nav { background: #e58325 }', 'light'],
    ['by its color scheme', ':root { color-scheme: dark; background: #111 }', 'dark'],
    [
      'by a color scheme for the element',
      'body { background: #111 } svc-update-notice { color-scheme: light }',
      'light',
    ],
    ['without a background', '', 'normal'],
  ] as const)('decides about the colors %s', async ([, css, scheme], { expect }) => {
    await visit(browser, script, { files: { '/page.css': css } }, async ({ page }) => {
      await pill(page).waitFor();
      expect(await schemeOf(page, 'svc-update-notice')).toBe(scheme);
    });
  });
});
