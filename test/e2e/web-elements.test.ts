import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Script } from '../../src/instance/testing/index.ts';
import { axeFindings, openBrowser, stickingOut, type VisitOptions, visit } from '../rig/web/browser.ts';
import { anna, history, latest, pastRun, releases, staysIn } from '../rig/web/scenes.ts';

const folder = fileURLToPath(new URL('../../.cache/screens/', import.meta.url));

let browser: Browser;
beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const standing: Script = { status: { latest }, releases, history, authorize: () => anna };
const newest = {
  next: null,
  upToDate: { code: 'newest', message: 'v1.4.2 is the newest on stable.' },
} as const;
const failed = pastRun({ id: 'last', outcome: 'failed', state: 'failed', from: 'v1.4.2', to: 'v1.5.0' });

const dialog = (page: Page) => page.locator('svc-update-dialog dialog');
const notice = (page: Page) => page.locator('svc-update-notice');
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const nothingIsCut = async (page: Page, expect: (value: unknown) => { toEqual(value: unknown): void }) => {
  for (const width of [320, 480, 768, 1280]) {
    await page.setViewportSize({ width, height: 720 });
    expect(await stickingOut(page)).toEqual([]);
  }
};

interface NoticeScene {
  name: string;
  script: Script;
  attributes?: string;
  /** Its words, and which of them are buttons. */
  shows: string[];
  buttons: string[];
}

const notices: NoticeScene[] = [
  {
    name: 'anybody',
    script: { ...standing, authorize: () => 'user' },
    attributes: 'version="v1.4.2"',
    shows: ['v1.4.2'],
    buttons: [],
  },
  {
    name: 'admin',
    script: { ...standing, status: newest },
    shows: ['v1.4.2'],
    buttons: ['svc v1.4.2, open update dialog'],
  },
  {
    name: 'available',
    script: standing,
    shows: ['v1.4.2', 'Update to v1.5.0'],
    buttons: ['svc v1.4.2, open update dialog', 'Update to v1.5.0'],
  },
  {
    name: 'failed',
    script: { ...standing, history: [failed] },
    shows: ['v1.4.2', 'Update failed'],
    buttons: ['svc v1.4.2, open update dialog', 'Update failed'],
  },
  {
    name: 'updating',
    script: { ...standing, open: staysIn('pull', { says: [{ message: 'pulling', percent: 42 }] }) },
    shows: ['v1.4.2', 'Updating… 42 %'],
    buttons: ['svc v1.4.2, open update dialog', 'Updating… 42 %'],
  },
  {
    name: 'updating-for-users',
    script: { ...standing, authorize: () => 'user', open: staysIn('pull') },
    attributes: '',
    shows: ['v1.4.2', 'Updating…'],
    buttons: [],
  },
];

describe.concurrent('a notice', () => {
  it.for(notices)('shows $name', async ({ name, script, attributes, shows, buttons }, { expect }) => {
    await visit(
      browser,
      script,
      attributes === undefined ? {} : { attributes },
      async ({ page, complaints }) => {
        await notice(page)
          .getByText(shows.at(-1) ?? '')
          .waitFor();
        expect(await notice(page).locator('.version, .pill').allInnerTexts()).toEqual(shows);
        const names = await notice(page)
          .locator('button')
          .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? one.textContent));
        expect(names).toEqual(buttons);
        await nothingIsCut(page, expect);
        await page.setViewportSize({ width: 480, height: 200 });
        await page.screenshot({ path: `${folder}notice-${name}-light.png` });
        expect(await axeFindings(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'dark' });
        await page.screenshot({ path: `${folder}notice-${name}-dark.png` });
        expect(await axeFindings(page, ['color-contrast'])).toEqual([]);
        expect(complaints).toEqual([]);
      },
    );
  });

  it('leads to a bad end, which stays closed in this browser', async () => {
    await visit(browser, { ...standing, history: [failed] }, {}, async ({ page, context }) => {
      const other = await context.newPage();
      await other.goto(page.url());
      await button(other, 'Update failed').waitFor();
      await button(page, 'Update failed').click();
      await dialog(page).getByRole('heading', { name: 'The update failed' }).waitFor();
      await dialog(page).locator('.actions').getByRole('button', { name: 'Close' }).click();
      await button(page, 'Update to v1.5.0').waitFor();
      await button(other, 'Update to v1.5.0').waitFor();
      await page.reload();
      await button(page, 'Update to v1.5.0').waitFor();
    });
  });

  it('asks where it is told to, and says what it is told to', async ({ expect }) => {
    const path = '/api/v2/update';
    const body = `<svc-update-dialog base="${path}"></svc-update-dialog>`;
    const options = { attributes: `admin version="v1.4.2" base="${path}/"`, body };
    await visit(browser, { ...standing, path }, options, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').waitFor();
      await page.evaluate(
        "import('/elements.mjs').then(({ setTexts }) => setTexts({ product: 'Acme', updateTo: (version) => 'Auf ' + version, channels: { stable: { name: 'stabil', about: '' } } }))",
      );
      await button(page, 'Auf v1.5.0').click();
      await dialog(page).getByRole('heading', { name: 'Update Acme' }).waitFor();
      await page.getByText('You run v1.4.2 · stabil').waitFor();
      expect(server.asked.every(({ path: asked }) => asked.startsWith(path))).toBe(true);
      expect(await page.locator('svc-update-dialog').count()).toBe(1);
    });
  });
});

describe.concurrent('a dialog', () => {
  it('is seen out of a sidebar that is folded away, and once however often it is opened', async ({
    expect,
  }) => {
    const body = '<div hidden><svc-update-dialog></svc-update-dialog></div>';
    await visit(browser, standing, { body }, async ({ page, complaints }) => {
      await page.evaluate(`(() => {
        const dialog = document.querySelector('svc-update-dialog');
        dialog.open(); dialog.open();
      })()`);
      await button(page, 'Update now').waitFor();
      expect(
        await page.evaluate("document.querySelector('svc-update-dialog').parentElement === document.body"),
      ).toBe(true);
      await page.keyboard.press('Escape');
      expect(await dialog(page).isVisible()).toBe(false);
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').waitFor();
      expect(await page.locator('svc-update-dialog').count()).toBe(1);
      expect(complaints).toEqual([]);
    });
  });

  const looks: [string, VisitOptions, (page: Page) => Promise<unknown>][] = [
    ['forced colours', { forcedColors: 'active' }, async () => {}],
    ['reduced motion', { reducedMotion: 'reduce' }, async () => {}],
    ['right to left', {}, (page) => page.evaluate("document.documentElement.dir = 'rtl'")],
    ['text of 200 %', {}, (page) => page.evaluate("document.documentElement.style.fontSize = '32px'")],
  ];
  it.for(looks)('is whole with %s', async ([name, options, change], { expect }) => {
    for (const [state, script, press] of [
      [
        'jobs',
        {
          ...standing,
          jobs: [
            { kind: 'deployment', state: 'running', title: 'web to production', since: null, stuck: false },
          ],
        },
        null,
      ],
      [
        'pull',
        { ...standing, open: staysIn('pull', { says: [{ message: 'pulling, 51 of 120 MB', percent: 42 }] }) },
        null,
      ],
    ] as const satisfies [string, Script, null][]) {
      await visit(browser, script, options, async ({ page }) => {
        await change(page);
        await notice(page).getByRole('button').first().click();
        await dialog(page).locator('.actions button').first().waitFor();
        await dialog(page).locator('summary').click();
        await nothingIsCut(page, expect);
        await page.setViewportSize({ width: 480, height: 720 });
        await page.screenshot({
          path: `${folder}${name.replaceAll(' ', '-').replace('-%', '')}-${state}.png`,
        });
        // The buttons are in view, however large the text is.
        const box = await dialog(page).locator('.actions button').first().boundingBox();
        expect(box).not.toBeNull();
        expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThanOrEqual(720);
        expect(press).toBeNull();
        if (name === 'reduced motion')
          expect(
            await page.evaluate(
              "getComputedStyle(document.querySelector('svc-update-dialog').shadowRoot.querySelector('dialog')).animationName",
            ),
          ).toBe('none');
      });
    }
  });

  it('shows the last updates, what stays behind and the way to the settings', async ({ expect }) => {
    const buildServers = [
      {
        name: 'build-2',
        version: 'v1.4.0',
        behind: true,
        command: 'svc update --program /usr/local/bin/svc-worker -- systemctl --user restart svc-worker',
      },
    ];
    await visit(browser, { ...standing, status: { latest, buildServers } }, {}, async ({ page }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').waitFor();
      await dialog(page).locator('summary').click();
      const rows = await dialog(page).locator('tbody tr').allInnerTexts();
      expect(rows.map((row) => row.split('\t').slice(1))).toEqual([
        ['v1.4.1 → v1.4.2', 'updated', 'away 2 s', 'anna'],
        ['v1.4.1 → v1.4.2', 'failed', '–', 'ben'],
        ['v1.4.0 → v1.4.1', 'updated', 'away 2 s', 'by hand'],
      ]);
      expect(await dialog(page).getByRole('link', { name: 'Change the channel' }).getAttribute('href')).toBe(
        '/settings',
      );
      await page.getByText('build-2 runs v1.4.0').waitFor();
      await nothingIsCut(page, expect);
      await page.setViewportSize({ width: 768, height: 720 });
      await page.screenshot({ path: `${folder}past-768-light.png` });
      expect(await axeFindings(page)).toEqual([]);
    });
  });
});

describe.concurrent('the choice of a channel', () => {
  const body = '<svc-update-channel></svc-update-channel>';
  const element = (page: Page) => page.locator('svc-update-channel');
  // Not by `waitForFunction`: what it asks for again is evaluated by the page, whose policy forbids that.
  const chosen = (page: Page, name: string) => element(page).locator(`[value=${name}]:checked`);

  it('is saved by a button, not by an arrow key', async ({ expect }) => {
    await visit(browser, standing, { body }, async ({ page, server, complaints }) => {
      // The page's own heading says what it is.
      await page.getByRole('group', { name: 'Release channel' }).waitFor();
      expect(await page.getByText('Release channel').count()).toBe(0);
      const stable = page.getByRole('radio', { name: /^stable/ });
      await element(page).getByText('stable', { exact: true }).waitFor();
      await stable.focus();
      await page.keyboard.press('ArrowDown');
      expect(await page.getByRole('radio', { name: /^canary/ }).isChecked()).toBe(true);
      expect(server.asked.filter(({ method }) => method === 'PUT')).toHaveLength(0);
      await nothingIsCut(page, expect);
      await page.screenshot({ path: `${folder}channel-1280-light.png` });
      expect(await axeFindings(page)).toEqual([]);
      await button(page, 'Save').click();
      await page.getByText('Saved: the channel is canary.').waitFor();
      await page.reload();
      await chosen(page, 'canary').waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('says why it was not saved, and what stands', async ({ expect }) => {
    const intercept = ({ method }: Request) => (method === 'PUT' ? Response.error() : undefined);
    await visit(browser, { ...standing, intercept }, { body }, async ({ page }) => {
      await chosen(page, 'stable').waitFor();
      await element(page).getByText('canary', { exact: true }).click();
      await button(page, 'Save').click();
      await page.getByText('Not saved: svc does not answer. The channel is still stable.').waitFor();
      expect(await page.getByRole('radio', { name: /^canary/ }).isChecked()).toBe(true);
    });
  });
});
