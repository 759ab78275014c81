import { networkInterfaces } from 'node:os';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { typicalRun } from '../../src/instance/testing/index.ts';
import { openBrowser, visit } from '../rig/web/browser.ts';
import {
  afterSaved,
  anna,
  history,
  latest,
  pastRun,
  releases,
  staysIn,
  twoUpdates,
} from '../rig/web/scenes.ts';

/** The machine may have more to do than this. */
const patient = { timeout: 30_000 };

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const dialog = (page: Page) => page.locator('svc-update-dialog dialog');
const notice = (page: Page) => page.locator('svc-update-notice');
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const heading = (page: Page, name: string | RegExp) =>
  dialog(page).getByRole('heading', { level: 3, name, exact: typeof name === 'string' });
const focused = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    return one.localName + ' ' + one.textContent;
  })()`);
const standing = { status: { latest }, releases, history, authorize: () => anna };

describe.concurrent('a rollback', () => {
  it('is asked for by keyboard, twice, begun once, and never called an update', async ({ expect }) => {
    await visit(browser, afterSaved({ speed: 4 }), {}, async ({ page, server, complaints }) => {
      await page.evaluate(`(() => {
        window.titles = [document.title];
        new MutationObserver(() => { if (titles.at(-1) !== document.title) titles.push(document.title); sessionStorage.titles = titles.join(' | '); })
          .observe(document.head, { subtree: true, childList: true, characterData: true });
      })()`);
      await notice(page).getByRole('button').first().press('Enter');
      await dialog(page).locator('summary').press('Enter');
      await button(page, 'Roll back to v1.4.1…').press('Enter');
      // The button is gone, and nobody presses what has come in its place by mistake.
      await button(page, 'Roll back…').waitFor();
      expect(await focused(page)).toBe('h2 Roll back svc');
      await button(page, 'Roll back…').press('Enter');
      expect(await focused(page)).toBe('h2 Roll back svc');
      await button(page, 'Cancel').press('Enter');
      await button(page, 'Roll back…').press('Enter');
      await button(page, 'Roll back to v1.4.1').dblclick();
      await heading(page, 'v1.4.2 → v1.4.1').waitFor();
      expect(await dialog(page).locator('h2').innerText()).toBe('Rolling back svc');
      expect(await notice(page).locator('.pill').innerText()).toMatch(/^Rolling back…/);
      await heading(page, 'v1.4.1 runs').waitFor();
      server.attributes = 'admin version="v1.4.1"';
      await page.waitForEvent('load');
      await notice(page).locator('.toast').getByText('v1.4.1 runs').waitFor();
      expect(await page.evaluate('sessionStorage.titles')).not.toContain('Updating');
      const posts = server.asked.filter(({ method }) => method === 'POST');
      expect(posts).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });

  it('that was closed while svc looks is forgotten', async ({ expect }) => {
    const slow = afterSaved({
      intercept: async ({ url }) => {
        if (url.endsWith('/rollback')) await new Promise((resolve) => setTimeout(resolve, 1_500));
        return undefined;
      },
    });
    await visit(browser, slow, {}, async ({ page, server }) => {
      const open = () => notice(page).getByRole('button').first().click();
      await open();
      await dialog(page).locator('summary').click();
      await button(page, 'Roll back to v1.4.1…').click();
      await button(page, 'Close').last().click();
      await open();
      await heading(page, 'v1.4.2 runs').waitFor();
      await page.waitForTimeout(2_500);
      expect(await heading(page, 'v1.4.2 runs').isVisible()).toBe(true);
      expect(server.asked.some(({ path }) => path.endsWith('/rollback'))).toBe(true);
    });
  });
});

describe.concurrent('an update', () => {
  it('goes from the button to the page of the new version', async ({ expect }) => {
    const buildServers = [{ name: 'build-2', version: 'v1.4.0', behind: true, command: 'svc update' }];
    // A page may be slow to look: what it is to see lasts until it has seen it.
    const held = new Set(['pull', 'recreate']);
    const typical = typicalRun();
    const steps = typical.steps.map((step) => ({ ...step, lasts: () => held.has(step.state) }));
    const script = {
      ...standing,
      speed: 2,
      runs: [{ ...typical, steps }],
      status: { latest, buildServers },
      jobs: [{ kind: 'job', state: 'queued', title: 'mail', since: null, stuck: false }] as const,
    };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await page.evaluate(`(() => {
        window.told = JSON.parse(sessionStorage.told ?? '[]');
        for (const name of ['start', 'end', 'reload'])
          document.addEventListener('svc-update-' + name, ({ detail }) => { told.push(name + ' ' + detail.run.id); sessionStorage.told = JSON.stringify(told); });
        window.titles = [document.title];
        new MutationObserver(() => { if (titles.at(-1) !== document.title) titles.push(document.title); })
          .observe(document.head, { subtree: true, childList: true, characterData: true });
      })()`);
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update anyway…').click();
      await button(page, 'Cut short and update').dblclick();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await button(page, 'Cancel').waitFor();
      const titles = () => page.evaluate<string[]>('titles');
      await expect.poll(titles, patient).toContain('100 % – svc');
      held.delete('pull');
      await heading(page, 'svc is restarting…').waitFor();
      const away = expect.stringMatching(/^away \d+ s – svc$/);
      await expect.poll(titles, patient).toContainEqual(away);
      held.delete('recreate');
      await heading(page, 'v1.5.0 runs').waitFor();
      const title = (await titles()).at(-1);
      server.attributes = 'admin version="v1.5.0"';
      await page.waitForEvent('load');
      expect(title).toBe('✓ v1.5.0 – svc');
      await notice(page).getByText('v1.5.0 runs').waitFor();
      const told = await notice(page).locator('.toast').innerText();
      expect(told).toMatch(/away for \d+ s · 1 waiting job runs now/);
      expect(told).toContain('build-2 runs v1.4.0');
      expect(await page.title()).toBe('✓ v1.5.0 – svc');
      await notice(page).getByRole('button', { name: 'Close' }).click();
      expect(await page.title()).toBe('svc');
      await page.reload();
      await notice(page).getByText('v1.5.0').waitFor();
      expect(await notice(page).locator('.toast').isVisible()).toBe(false);
      expect(await page.evaluate('JSON.parse(sessionStorage.told)')).toEqual([
        'start run1',
        'end run1',
        'reload run1',
      ]);
      expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });

  it('is the same in two tabs, and after a reload in the middle', async ({ expect }) => {
    const run = staysIn('pull', { says: [{ message: 'pulling, 51 of 120 MB', percent: 42 }] });
    await visit(browser, { ...standing, runs: [run] }, {}, async ({ page, context }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').click();
      const other = await context.newPage();
      await other.goto(page.url());
      await button(other, 'Updating… 42 %').click();
      await page.getByText('51 of 120 MB').waitFor();
      await page.reload();
      await button(page, 'Updating… 42 %').click();
      for (const one of [page, other]) {
        await one.getByText('51 of 120 MB').waitFor();
        expect(await dialog(one).locator('.lead').innerText()).toMatch(/Started by anna at \d\d:\d\d/);
      }
      const times = (one: Page) => dialog(one).locator('.phases .done .t').allInnerTexts();
      expect(await times(page)).toEqual(await times(other));
      await button(other, 'Cancel').click();
      await page.getByText('Asked to stop by anna; it may be too late.').waitFor();
    });
  });

  it('is told to users without its details, and an old page offers to load itself anew', async ({
    expect,
  }) => {
    const user = { ...standing, authorize: () => 'user' as const };
    const options = { attributes: 'admin version="1.4.2"', prepare: (page: Page) => page.clock.install() };
    await visit(browser, { ...user, open: staysIn('pull') }, options, async ({ page, server }) => {
      await notice(page).getByText('Updating…').waitFor();
      expect(await notice(page).getByRole('button').count()).toBe(0);
      await server.play({ ...user, status: { version: 'v1.5.0', next: null } });
      await page.clock.runFor(5_000);
      await notice(page).getByText('v1.5.0').waitFor();
      // Once may be a server that is on its way out.
      expect(await button(page, 'Reload for v1.5.0').count()).toBe(0);
      await page.clock.runFor(60_000);
      await button(page, 'Reload for v1.5.0').waitFor();
    });
  });

  it('of which the answer got lost is not asked for twice', async ({ expect }) => {
    const script = {
      ...standing,
      runs: [staysIn('pull')],
    };
    await visit(browser, script, {}, async ({ page, server }) => {
      await page.route('**/api/v1/instance/update', async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        await route.fetch();
        await route.abort();
      });
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    });
  });

  it('is cancelled by a second press where what became of the first got lost', async ({ expect }) => {
    let lost = 0;
    const intercept = ({ method }: Request) =>
      method === 'DELETE' && lost++ === 0 ? new Response('<h1>502</h1>', { status: 502 }) : undefined;
    const script = { ...standing, intercept, runs: [staysIn('pull')] };
    await visit(browser, script, {}, async ({ page }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').click();
      const answered = page.waitForResponse((response) => response.status() === 502);
      await button(page, 'Cancel').click();
      await answered;
      const again = dialog(page).locator('button:not([aria-disabled])', { hasText: 'Cancel' });
      await again.click({ timeout: 5_000 });
      await expect.poll(() => lost).toBe(2);
    });
  });

  it('is said at once to be asked for, and asked for once', async ({ expect }) => {
    const script = {
      ...standing,
      intercept: async ({ method }: Request) => {
        if (method === 'POST') await new Promise((resolve) => setTimeout(resolve, 1_000).unref());
        return undefined;
      },
    };
    await visit(browser, script, {}, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').waitFor();
      const frames = await page.evaluate(`(async () => {
        const root = document.querySelector('svc-update-dialog').shadowRoot;
        let frames = 0;
        const button = [...root.querySelectorAll('button')].find((one) => one.textContent === 'Update now');
        button.click();
        // It is gone by now, and a hand may be quicker than a page.
        button.click();
        while (!root.textContent.includes('Asking svc to start…')) {
          await new Promise(requestAnimationFrame);
          frames += 1;
        }
        return frames;
      })()`);
      // The next one that the page paints, or the one that was on its way.
      expect(frames).toBeLessThanOrEqual(2);
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    });
  });

  it('that another page has ended twice over comes right in a tab that was frozen', async ({ expect }) => {
    const first = { ...typicalRun(), steps: [{ state: 'pull' as const, seconds: 2 }] };
    const second = {
      ...typicalRun(),
      steps: [{ state: 'pull' as const, seconds: 0.1 }],
      end: { outcome: 'updated' as const, version: 'v1.6.0' },
    };
    const options = {
      prepare: (page: Page) =>
        page.addInitScript("addEventListener('svc-update-reload', (event) => event.preventDefault())"),
    };
    const status = { latest: { ...latest, version: 'v1.6.0' }, next: { version: 'v1.5.0', major: false } };
    await visit(
      browser,
      { ...standing, status, runs: [first, second] },
      options,
      async ({ page, server }) => {
        await button(page, 'Update to v1.5.0').click();
        await dialog(page).getByRole('button', { name: 'Update to v1.5.0' }).click();
        await heading(page, 'v1.4.2 → v1.5.0').waitFor();
        await setVisible(page, false);
        const base = `http://localhost:${server.port}/api/v1/instance/update`;
        const progress = async () =>
          (await (await fetch(`${base}/progress`)).json()) as { id: string; outcome: string | null };
        await expect.poll(async () => (await progress()).outcome, { timeout: 30_000 }).toBe('updated');
        await fetch(base, {
          method: 'POST',
          body: '{"target":"v1.6.0"}',
          headers: { 'Content-Type': 'application/json' },
        });
        await expect
          .poll(async () => (await progress()).id + (await progress()).outcome, { timeout: 30_000 })
          .toBe('run2updated');
        await setVisible(page, true);
        await heading(page, 'v1.6.0 runs').waitFor();
      },
    );
  });
});

describe.concurrent('a path', () => {
  const quickly = { steps: [{ state: 'pull' as const, seconds: 0.5 }], end: { outcome: 'updated' as const } };

  it('is gone to its end by one press, through a reload in between', async ({ expect }) => {
    let waits = true;
    const betweens = [{ seconds: 0.5, says: 'old builds are moved', lasts: () => waits }];
    const script = { ...twoUpdates, runs: [quickly], betweens };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await notice(page).getByRole('button', { name: 'Update to v2.0.0' }).press('Enter');
      await dialog(page).getByRole('button', { name: 'Update to v2.0.0' }).press('Enter');
      await heading(page, 'svc v1.5.0 is not ready for the next one yet').waitFor();
      await page.waitForTimeout(3_000);
      expect(await dialog(page).isVisible()).toBe(true);
      server.attributes = 'admin version="v1.5.0"';
      await page.reload();
      await button(page, 'Updating… 1 of 2').press('Enter');
      await heading(page, 'svc v1.5.0 is not ready for the next one yet').waitFor();
      expect(await dialog(page).locator('.stations').innerText()).toMatch(/^v1\.5\.0\s+v2\.0\.0$/);
      waits = false;
      await heading(page, 'v2.0.0 runs').waitFor();
      server.attributes = 'admin version="v2.0.0"';
      await page.waitForEvent('load');
      await notice(page).locator('.toast').getByText('v2.0.0 runs').waitFor();
      expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });

  it('ends where somebody cancels it in between', async ({ expect }) => {
    const script = {
      ...twoUpdates,
      runs: [quickly],
      betweens: [{ seconds: 600, says: 'old builds are moved' }],
    };
    const options = { prepare: (page: Page) => page.clock.install() };
    await visit(browser, script, options, async ({ page, server }) => {
      await notice(page).getByRole('button', { name: 'Update to v2.0.0' }).click();
      await dialog(page).getByRole('button', { name: 'Update to v2.0.0' }).click();
      await heading(page, 'svc v1.5.0 is not ready for the next one yet').waitFor();
      server.attributes = 'admin version="v1.5.0"';
      // A page that has not seen the first update, too, sees that its path is over.
      await page.reload();
      await button(page, 'Updating… 1 of 2').click();
      await button(page, 'Cancel').waitFor();
      // What comes of it is asked for at once, not at the next look.
      await page.clock.pauseAt(Date.now() + 60_000);
      await button(page, 'Cancel').dblclick();
      await heading(page, 'v2.0.0 is available').waitFor();
      await button(page, 'Update now').waitFor();
      expect(server.asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    });
  });
});

const setVisible = (page: Page, isVisible: boolean) =>
  page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => ${isVisible ? "'visible'" : "'hidden'"} });
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);

describe.concurrent('requests', () => {
  const visits = { prepare: (page: Page) => page.clock.install() };

  it('are one a minute for a notice, and none in a hidden tab', async ({ expect }) => {
    await visit(browser, standing, visits, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').waitFor();
      expect(server.asked.map(({ path }) => path)).toEqual(['/api/v1/instance/update']);
      for (let minute = 0; minute < 10; minute += 1) {
        await page.clock.runFor(60_000);
        await expect.poll(() => server.asked.length, patient).toBe(minute + 2);
        // The answer has to have come before the next minute begins.
        await page.waitForTimeout(100);
      }
      await setVisible(page, false);
      await page.clock.runFor(300_000);
      expect(server.asked).toHaveLength(11);
      await setVisible(page, true);
      await expect.poll(() => server.asked.length, patient).toBe(12);
      await page.evaluate("dispatchEvent(new Event('online'))");
      await expect.poll(() => server.asked.length, patient).toBe(13);
    });
  });

  it('are one every five seconds between two updates', async ({ expect }) => {
    const at = new Date().toISOString();
    const between = { to: 'v2.0.0', says: 'not yet', since: at, until: at };
    await visit(browser, { ...standing, status: { latest, between } }, visits, async ({ page, server }) => {
      await button(page, 'Updating…').waitFor();
      await page.clock.runFor(5_000);
      await expect.poll(() => server.asked.length, patient).toBe(2);
    });
  });

  it('are one every five seconds for an open dialog, and a stream alone during a run', async ({ expect }) => {
    const script = { ...standing, runs: [staysIn('pull')] };
    await visit(browser, script, visits, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').click();
      await page.getByText('queue position').waitFor();
      const count = () => server.asked.filter(({ path }) => !path.includes('/history')).length;
      const before = count();
      for (let times = 1; times <= 4; times += 1) {
        await page.clock.runFor(5_000);
        await expect.poll(count, patient).toBe(before + times);
        await page.waitForTimeout(100);
      }
      // The notes are asked for once.
      expect(server.asked.filter(({ path }) => path.includes('notes=1'))).toHaveLength(1);
      await button(page, 'Update now').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await expect.poll(() => server.asked.filter(({ isStream }) => isStream).length, patient).toBe(1);
      const during = server.asked.length;
      await page.clock.runFor(14_000);
      expect(server.asked).toHaveLength(during);
      await page.keyboard.press('Escape');
      for (let times = 1; times <= 3; times += 1) {
        await page.clock.runFor(5_000);
        await page.waitForTimeout(100);
      }
      expect(server.asked.length - during).toBeLessThanOrEqual(4);
      expect(server.asked.length - during).toBeGreaterThanOrEqual(2);
      expect(server.asked.filter(({ isStream }) => isStream)).toHaveLength(1);
    });
  });
});

describe.concurrent('a person', () => {
  it('skips a version, and has it offered again', async ({ expect }) => {
    await visit(browser, standing, {}, async ({ page, complaints }) => {
      const pill = button(page, 'Update to v1.5.0');
      await pill.click();
      await dialog(page).getByRole('button', { name: 'Skip this version' }).click();
      await dialog(page)
        .getByText(/^You skip v1\.5\.0/)
        .waitFor();
      await page.keyboard.press('Escape');
      expect(await pill.count()).toBe(0);
      await page.locator('svc-update-notice button').first().click();
      await dialog(page).getByRole('button', { name: 'Offer again' }).click();
      await dialog(page).getByRole('button', { name: 'Update now' }).waitFor();
      await page.keyboard.press('Escape');
      await pill.waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('does everything by keyboard, and never presses what has just changed', async ({ expect }) => {
    await visit(browser, { ...standing, runs: [staysIn('pull')] }, {}, async ({ page }) => {
      await button(page, 'Update to v1.5.0').waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('button v1.4.2');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await expect.poll(() => focused(page), patient).toBe('h2 Update svc');
      await button(page, 'Update now').waitFor();
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('button ');
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('button Update now');
      await page.keyboard.press('Enter');
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await expect.poll(() => focused(page), patient).toBe('h2 Updating svc');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      expect(await dialog(page).isVisible()).toBe(false);
      await expect.poll(() => focused(page), patient).toMatch(/^button (v1\.4\.2|Updating…)/);
      expect(await button(page, /^Updating…/).count()).toBe(1);
    });
  });

  it('is told of phases politely, once, and of a bad end at once', async ({ expect }) => {
    const quick = (['launching', 'inspect', 'plan'] as const).map((state) => ({ state, seconds: 0.3 }));
    const run = {
      steps: [
        ...quick,
        { state: 'pull' as const, seconds: 3.5, says: ['pulling, 1 of 2 MB', 'pulling, 2 of 2 MB'] },
      ],
      end: { outcome: 'failed', cause: 'no such tag', code: 'pull-unknown' } as const,
    };
    await visit(browser, { ...standing, runs: [run] }, {}, async ({ page }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').waitFor();
      await page.evaluate(`(() => {
        window.said = [];
        for (const region of document.querySelector('svc-update-dialog').shadowRoot.querySelectorAll('[aria-live]'))
          new MutationObserver(() => region.textContent && said.push(region.getAttribute('aria-live') + ' ' + region.textContent))
            .observe(region, { childList: true, characterData: true, subtree: true });
      })()`);
      await button(page, 'Update now').click();
      await heading(page, 'The update failed').waitFor({ timeout: 60_000 });
      expect(await page.evaluate('said')).toEqual([
        'polite Pulling',
        'assertive The update failed · No such tag.',
      ]);
    });
  });

  it('is found by an open dialog with its notes', async ({ expect }) => {
    const next = { version: 'v1.5.0', major: false };
    const script = {
      ...standing,
      status: { latest: { ...latest, version: 'v1.4.2' }, next: null },
      afterRefresh: { latest, next },
    };
    await visit(browser, script, {}, async ({ page, server }) => {
      await notice(page).getByRole('button').first().click();
      await button(page, 'Check again').click();
      await heading(page, /v1\.5\.0/).waitFor();
      await dialog(page).getByText('Backups resume after a lost connection').waitFor();
      // With the release itself, not with a later look.
      const asked = server.asked.filter(({ path }) => path.includes('notes=1'));
      expect(asked.map(({ path }) => path)).toEqual([expect.stringContaining('refresh=1')]);
    });
  });

  it('stays until svc has answered that it is tried again', async ({ expect }) => {
    const broken = pastRun({
      id: 'last',
      outcome: 'broken',
      state: 'broken',
      to: 'v1.5.0',
      code: 'broken',
      cause: 'the worker has stopped',
    });
    let isAway = true;
    const intercept = ({ method }: Request) =>
      isAway && method === 'POST' ? Response.json({ title: 'not yet' }, { status: 503 }) : undefined;
    const script = { ...standing, history: [broken], intercept };
    await visit(browser, script, {}, async ({ page }) => {
      await button(page, 'Update failed').click();
      await heading(page, 'v1.5.0 has started and is not well').waitFor();
      await button(page, 'Check it again').click();
      await heading(page, 'The update was not started').waitFor();
      await button(page, 'Check again').click();
      await heading(page, 'v1.5.0 has started and is not well').waitFor();
      isAway = false;
      await button(page, 'Check it again').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      expect(await heading(page, 'v1.5.0 has started and is not well').count()).toBe(0);
    });
  });

  it('copies on plain HTTP of a network by selecting', async ({ expect }) => {
    const host = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
    const broken = pastRun({
      id: 'last',
      outcome: 'broken',
      state: 'broken',
      from: 'v1.4.2',
      to: 'v1.5.0',
      code: 'not-well',
      cause: 'it is not well',
    });
    await visit(
      browser,
      { ...standing, history: [broken] },
      { host: host ?? '127.0.0.1' },
      async ({ page }) => {
        expect(host).toBeDefined();
        expect(await page.evaluate('isSecureContext')).toBe(false);
        await button(page, 'Update failed').click();
        await heading(page, 'v1.4.2 runs and is not well').waitFor();
        await button(page, 'Copy: docker logs svc-updater').click();
        await button(page, /^Selected: press Ctrl\+C: docker logs/).waitFor();
        expect(await page.evaluate('getSelection().toString()')).toBe('docker logs svc-updater');
        await button(page, 'Copy report').click();
        await button(page, 'Selected: press Ctrl+C').waitFor();
        expect(await dialog(page).locator('textarea').inputValue()).toContain('- Cause: it is not well');
        expect(await focused(page)).toMatch(/^textarea/);
        await button(page, 'Close').last().click();
        await button(page, 'Update to v1.5.0').waitFor();
      },
    );
  });

  it('copies a report with the last lines of the log', async ({ expect }) => {
    const end = { outcome: 'failed', in: 'pull', cause: 'no such tag', code: 'pull-unknown' } as const;
    const options = { permissions: ['clipboard-read', 'clipboard-write'] };
    await visit(browser, { ...standing, speed: 20, open: typicalRun(end) }, options, async ({ page }) => {
      await button(page, 'Update failed').waitFor();
      // A page that has seen none of them asks for the lines.
      await page.reload();
      await button(page, 'Update failed').click();
      await button(page, 'Copy report').click();
      await button(page, 'Copied').waitFor();
      const text = await page.evaluate('navigator.clipboard.readText()');
      expect(text).toContain('- Code: pull-unknown');
      expect(text).toMatch(
        /```text\n(.*\n)*.* INFO pull pulling, 120 of 120 MB\n(.*\n)*.* ERROR pull no such tag\n/,
      );
    });
  });

  it('whose clock is a day off sees the right ages', async ({ expect }) => {
    const clock =
      'Date = class extends Date { constructor(...given) { if (given.length) super(...given); else super(super_now() + 86400000); } static now() { return super_now() + 86400000; } };';
    const options = {
      prepare: (page: Page) =>
        page.addInitScript(`const real = Date.now.bind(Date); const super_now = () => real(); ${clock}`),
    };
    const jobs = [
      {
        kind: 'deployment',
        state: 'running',
        title: 'web',
        since: new Date(Date.now() - 125_000).toISOString(),
        stuck: false,
      },
    ] as const;
    await visit(browser, { ...standing, jobs }, options, async ({ page }) => {
      await button(page, 'Update to v1.5.0').click();
      expect(await dialog(page).locator('.jobs .t').innerText()).toBe('2 min');
    });
  });
});

describe.concurrent('a newer server', () => {
  it('is shown in its own words, whatever it has invented', async ({ expect }) => {
    const status = {
      version: 'v1.4.2',
      channel: 'nightly',
      next: { version: 'v1.5.0', major: false, colour: 'blue' },
      latest: { version: 'v1.5.0' },
      run: {
        id: 'r',
        state: 'reticulate',
        message: 'reticulating splines',
        startedAt: new Date().toISOString(),
        from: 'v1.4.2',
        to: 'v1.5.0',
        outcome: null,
        tea: 1,
      },
      now: new Date().toISOString(),
    };
    const intercept = ({ url, headers }: Request) =>
      headers.get('accept')?.includes('event-stream')
        ? new Response(
            `event: tea\ndata: {}\n\nevent: run\nid: r:1\ndata: ${JSON.stringify({ ...status.run, now: status.now })}\n\n`,
            { headers: { 'Content-Type': 'text/event-stream' } },
          )
        : url.endsWith('/history')
          ? Response.json([])
          : Response.json(status);
    await visit(browser, { intercept }, {}, async ({ page, complaints }) => {
      await button(page, 'Updating…').click();
      await page.getByText('Reticulating splines.').waitFor();
      await page.getByText('Channel nightly').waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it.for([
    ['a proxy that answers 404', 404],
    ['a proxy that answers 502', 502],
  ] as const)('is not taken for gone by %s', async ([, code], { expect }) => {
    let isAway = false;
    const intercept = () =>
      isAway
        ? new Response('<h1>404 page not found</h1>', {
            status: code,
            headers: { 'Content-Type': 'text/html' },
          })
        : undefined;
    await visit(
      browser,
      { ...standing, intercept, runs: [staysIn('recreate')] },
      {},
      async ({ page, server }) => {
        await button(page, 'Update to v1.5.0').click();
        await button(page, 'Update now').click();
        await page.getByText('The update can no longer be cancelled.').waitFor();
        isAway = true;
        const last = {
          ...standing,
          status: { latest, version: 'v1.5.0', next: null },
          history: [
            pastRun({ id: 'run1', from: 'v1.4.2', to: 'v1.5.0', startedAt: new Date().toISOString() }),
          ],
        };
        await server.play({ ...last, intercept });
        await heading(page, 'svc is restarting…').waitFor();
        isAway = false;
        await heading(page, 'v1.5.0 runs').waitFor();
        expect(await dialog(page).isVisible()).toBe(true);
      },
    );
  });
});
