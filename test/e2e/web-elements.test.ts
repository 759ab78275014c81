import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Script } from '../../src/instance/testing/index.ts';
import { axeFindings, openBrowser, stickingOut, type VisitOptions, visit } from '../rig/web/browser.ts';
import {
  anna,
  automatic,
  history,
  latest,
  pastRun,
  releases,
  staysIn,
  twoUpdates,
} from '../rig/web/scenes.ts';

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
const at = new Date().toISOString();
const itself = pastRun({ id: 'last', from: 'v1.4.1', to: 'v1.4.2', by: 'automatic', endedAt: at });
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
    name: 'path',
    script: {
      ...twoUpdates,
      status: {
        ...twoUpdates.status,
        version: 'v1.5.0',
        between: { to: 'v2.0.0', says: 'not yet', since: at, until: at },
      },
      history: [pastRun({ id: 'last', to: 'v1.5.0', path: ['v1.5.0', 'v2.0.0'] })],
    },
    attributes: 'admin',
    shows: ['v1.5.0', 'Updating… 1 of 2'],
    buttons: ['svc v1.5.0, open update dialog', 'Updating… 1 of 2'],
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

  it('tells admins of an update by itself until they have closed that', async ({ expect }) => {
    const script = { ...standing, status: newest, history: [itself, ...history] };
    await visit(browser, script, {}, async ({ page, context, complaints }) => {
      const toast = (of: Page) => notice(of).locator('.toast');
      await toast(page).waitFor();
      expect(await toast(page).innerText()).toMatch(
        /^svc updated itself at \d\d:\d\d\s+v1\.4\.2 · away for 2 s/,
      );
      await nothingIsCut(page, expect);
      await page.setViewportSize({ width: 480, height: 300 });
      await page.screenshot({ path: `${folder}toast-by-itself-light.png` });
      expect(await axeFindings(page)).toEqual([]);
      await page.reload();
      await toast(page).waitFor();
      const other = await context.newPage();
      await other.goto(page.url());
      await toast(other).waitFor();
      await toast(other).getByRole('button', { name: 'Close' }).click();
      await toast(page).waitFor({ state: 'hidden' });
      await page.reload();
      await notice(page).getByText('v1.4.2').waitFor();
      expect(await toast(page).isVisible()).toBe(false);
      await notice(page).getByRole('button').first().click();
      await dialog(page).locator('summary').click();
      await dialog(page).getByText('by itself', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
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
        command: 'curl -fLO https://example.org/svc-worker && systemctl --user restart svc-worker',
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

describe.concurrent('the settings', () => {
  const body = '<h2>Updates</h2><svc-update-settings></svc-update-settings>';
  const element = (page: Page) => page.locator('svc-update-settings');
  const off = { ...automatic, enabled: false, nextAt: null };
  const script = { ...standing, status: { latest, automatic: off } };

  it('are changed by keyboard, and say what is set', async ({ expect }) => {
    await visit(browser, script, { body }, async ({ page, server, complaints }) => {
      const enabled = page.getByRole('switch', { name: /^Update by itself/ });
      await page.getByText('Nothing is installed by itself.').waitFor();
      expect(await enabled.isChecked()).toBe(false);
      await enabled.press('Space');
      await page.getByText('Not saved yet.').waitFor();
      const tabbed: string[] = [];
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        const name = await page.evaluate(
          'document.activeElement.shadowRoot?.activeElement?.name || document.activeElement.shadowRoot?.activeElement?.type',
        );
        if (name !== tabbed.at(-1)) tabbed.push(String(name));
        if (name === 'submit') break;
        if (name === 'timeZone') {
          await page.keyboard.press('Control+A');
          await page.keyboard.type('UTC');
        }
        if (name === 'age') {
          await page.keyboard.press('Control+A');
          await page.keyboard.type('1.5');
        }
        if (name === 'majors') await page.keyboard.press('Space');
      }
      expect(tabbed).toEqual(['from', 'to', 'timeZone', 'days', 'age', 'majors', 'submit']);
      await nothingIsCut(page, expect);
      await page.screenshot({ path: `${folder}settings-1280-light.png` });
      expect(await axeFindings(page)).toEqual([]);
      expect(server.asked.filter(({ method }) => method === 'PUT')).toHaveLength(0);
      await page.keyboard.press('Enter');
      await page
        .getByText(/^Saved: the channel is stable\. The next one begins .*, after 02:00 \(UTC\)\.$/)
        .waitFor();
      expect(server.asked.filter(({ method }) => method === 'PUT').map(({ path }) => path)).toEqual([
        '/api/v1/instance/update/automatic',
      ]);
      await page.reload();
      await page.getByText('The next one begins').waitFor();
      expect(await enabled.isChecked()).toBe(true);
      expect(await page.getByLabel('Time zone').inputValue()).toBe('UTC');
      expect(await page.getByRole('spinbutton', { name: 'Wait until a release is' }).inputValue()).toBe(
        '1.5',
      );
      expect(await page.getByRole('checkbox', { name: 'Major versions, too' }).isChecked()).toBe(true);
      expect(complaints).toEqual([]);
    });
  });

  it('are changed by mouse, the channel with them', async ({ expect }) => {
    await visit(browser, { ...script, status: { latest, automatic } }, { body }, async ({ page, server }) => {
      await page.getByRole('group', { name: 'On these days; none is every day' }).waitFor();
      await page.getByRole('checkbox', { name: 'Mon' }).click();
      await page.getByRole('checkbox', { name: 'Sun' }).click();
      await page.getByLabel('From').fill('03:30');
      await element(page).getByText('canary', { exact: true }).click();
      await button(page, 'Save').click();
      await page.getByText('Saved: the channel is canary.').waitFor();
      const status = await (await fetch(`http://localhost:${server.port}/api/v1/instance/update`)).json();
      expect(status).toMatchObject({
        channel: 'canary',
        automatic: { from: '03:30', to: '05:00', days: ['tue', 'sun'], age: 72, majors: false },
      });
    });
  });

  it('say why they were not saved, with nothing of them saved', async ({ expect }) => {
    await visit(browser, { ...script, status: { latest, automatic } }, { body }, async ({ page, server }) => {
      await page.getByLabel('Time zone').fill('Moon/Tycho');
      await element(page).getByText('canary', { exact: true }).click();
      await button(page, 'Save').click();
      await page
        .getByText(/^Not saved: .*timeZone must be a time zone.* The channel is still stable\.$/)
        .waitFor();
      expect(await page.getByLabel('Time zone').inputValue()).toBe('Moon/Tycho');
      expect(server.asked.filter(({ path }) => path.endsWith('/channel'))).toHaveLength(0);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.screenshot({ path: `${folder}settings-refused-dark.png` });
      expect(await axeFindings(page, ['color-contrast'])).toEqual([]);
    });
  });

  it('of a server that starts nothing by itself are the channel', async ({ expect }) => {
    await visit(browser, standing, { body }, async ({ page }) => {
      await element(page).locator('[value=stable]:checked').waitFor();
      expect(await page.getByRole('switch').count()).toBe(0);
      await element(page).getByText('canary', { exact: true }).click();
      await button(page, 'Save').click();
      await page.getByText('Saved: the channel is canary.').waitFor();
    });
  });
});
