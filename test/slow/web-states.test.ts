import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { axeFindings, openBrowser, stickingOut, type VisitOptions, visit } from '../rig/web/browser.ts';
import { scenes } from '../rig/web/scenes.ts';

// Takes pictures of every state of the dialog. Nothing may be truncated, and axe must find no problems.

/** The folder of the pictures. */
const folder = fileURLToPath(new URL('../../.cache/screens/', import.meta.url));
const widths = [1280, 768, 480, 320];

let browser: Browser;

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const dialog = (page: Page) => page.locator('svc-update-dialog dialog');

/** Opens the dialog with the first button of the notice. */
async function open(page: Page, { act, heading }: Pick<(typeof scenes)[number], 'act' | 'heading'>) {
  await page.locator('svc-update-notice button:visible').first().click();
  await act?.(page);
  await dialog(page)
    .getByRole('heading', { level: 3, name: heading, exact: typeof heading === 'string' })
    .waitFor({ timeout: 60_000 });
}

describe.concurrent('a dialog', () => {
  it.for(scenes)('shows $name', async (scene, { expect }) => {
    const { name, script, visit: options = {} } = scene;
    await visit(browser, script(), options, async ({ page, complaints }) => {
      await open(page, scene);
      expect(await page.locator('svc-update-dialog .primary:visible').count()).toBeLessThanOrEqual(1);
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        for (const width of widths) {
          await page.setViewportSize({ width, height: 720 });
          expect(await stickingOut(page)).toEqual([]);
          await page.screenshot({ path: `${folder}${name}-${width}-${scheme}.png` });
        }
        expect(await axeFindings(page)).toEqual([]);
      }
      expect(complaints).toEqual([]);
    });
  });

  const looks: [string, VisitOptions, (page: Page) => Promise<unknown>][] = [
    ['forced colours', { forcedColors: 'active' }, async () => {}],
    ['reduced motion', { reducedMotion: 'reduce' }, async () => {}],
    ['right to left', {}, (page) => page.evaluate("document.documentElement.dir = 'rtl'")],
    ['large text', {}, (page) => page.evaluate("document.documentElement.style.fontSize = '32px'")],
  ];
  it.for(looks)('is not truncated with %s', async ([look, options, change], { expect }) => {
    for (const scene of scenes.filter(({ name }) => ['jobs', 'pulling'].includes(name))) {
      await visit(browser, scene.script(), options, async ({ page }) => {
        await change(page);
        await open(page, scene);
        await dialog(page).locator('summary').click();
        for (const width of widths) {
          await page.setViewportSize({ width, height: 720 });
          expect(await stickingOut(page)).toEqual([]);
        }
        await page.screenshot({ path: `${folder}${scene.name}-${look.replaceAll(' ', '-')}.png` });
        // The buttons must be visible with any text size.
        const box = await dialog(page).locator('.actions button').first().boundingBox();
        expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThanOrEqual(720);
        const animation = await page.evaluate(
          "getComputedStyle(document.querySelector('svc-update-dialog').shadowRoot.querySelector('dialog')).animationName",
        );
        if (look === 'reduced motion') expect(animation).toBe('none');
      });
    }
  });
});
