import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { axeFindings, openBrowser, stickingOut, visit } from '../rig/web/browser.ts';
import { scenes } from '../rig/web/scenes.ts';

/** Where a person can look at them. */
const folder = fileURLToPath(new URL('../../.cache/screens/', import.meta.url));
const looks = [
  ...[1280, 768, 480, 320].map((width) => ({ width, scheme: 'light' as const })),
  ...[320, 480, 768, 1280].map((width) => ({ width, scheme: 'dark' as const })),
];
/** All of them take a minute more: `SCREENS=all`. */
const isShown = (width: number, scheme: string): boolean =>
  process.env.SCREENS === 'all' || (scheme === 'light' ? width === 768 : width === 320);

let browser: Browser;

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const dialog = (page: Page) => page.locator('svc-update-dialog dialog');

/** The notice's first button, whatever it is called. */
const openDialog = (page: Page) => page.locator('svc-update-notice button').first().click();

describe.concurrent('a dialog', () => {
  it.for(scenes)(
    'shows $name',
    async ({ name, script, visit: options = {}, act, heading, says = [], buttons }, { expect }) => {
      await visit(browser, script(), options, async ({ page, complaints }) => {
        await openDialog(page);
        await act?.(page);
        await dialog(page)
          .getByRole('heading', { level: 3, name: heading, exact: typeof heading === 'string' })
          .waitFor({ timeout: 60_000 });
        for (const said of says)
          await expect.poll(() => textOf(page), { timeout: 30_000 }).toMatch(pattern(said));
        expect(await dialog(page).locator('.actions button').allInnerTexts()).toEqual(buttons);
        expect(await page.locator('svc-update-dialog .primary:visible').count()).toBeLessThanOrEqual(1);
        for (const { width, scheme } of looks) {
          await page.emulateMedia({ colorScheme: scheme });
          await page.setViewportSize({ width, height: 720 });
          expect(await stickingOut(page)).toEqual([]);
          if (isShown(width, scheme))
            await page.screenshot({ path: `${folder}${name}-${width}-${scheme}.png` });
        }
        expect(await axeFindings(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'light' });
        expect(await axeFindings(page, ['color-contrast'])).toEqual([]);
        expect(complaints).toEqual([]);
      });
    },
  );
});

const textOf = async (page: Page): Promise<string> => (await dialog(page).innerText()).replace(/\s+/g, ' ');
const pattern = (said: string | RegExp): RegExp =>
  said instanceof RegExp ? said : new RegExp(escaped(said));
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
