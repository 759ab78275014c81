import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  type ScriptedRun,
  type ScriptedStep,
  typicalRollback,
  typicalRun,
} from '../../src/server/testing/index.ts';
import { dayNames } from '../../src/wire/codes.ts';
import { axeFindings, openBrowser, stickingOut, visit } from '../rig/web/browser.ts';
import {
  afterSaved,
  anna,
  automatic,
  history,
  latest,
  pastRun,
  releases,
  scenes,
  staysIn,
  twoUpdates,
} from '../rig/web/scenes.ts';

// Behaviour of the elements that only a browser shows (docs/contract.md 10). test/web tests the texts of each state.

/** The machine may be busy. */
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

/** Stops the clock of the page from the start: it moves only with `clock.runFor`, however slow the machine is. */
async function stopClock(page: Page): Promise<void> {
  const now = Date.now();
  await page.clock.install({ time: now - 3_600_000 });
  await page.clock.pauseAt(now);
}

/** Does something that makes the page request the status, and waits until the page has read the response. */
async function untilAnswered(page: Page, act: () => Promise<unknown>): Promise<void> {
  const { promise: isAnswered, resolve } = Promise.withResolvers<void>();
  const look = (request: { url(): string }) => {
    if (/\/update(?:\?|$)/.test(request.url())) resolve();
  };
  // A page that cancels a request once it has read the response makes it fail.
  const events = ['requestfinished', 'requestfailed'] as const;
  for (const event of events) page.on(event as 'requestfinished', look);
  await act();
  await isAnswered;
  for (const event of events) page.off(event as 'requestfinished', look);
  // The page handles the response before it runs another script.
  await page.evaluate('null');
}

/** A run that stays in a state until the test lets it continue. */
function held({ steps, end }: ScriptedRun, state: ScriptedStep['state']) {
  let isHeld = true;
  const lasts = () => isHeld;
  return {
    run: { steps: steps.map((step) => (step.state === state ? { ...step, lasts } : step)), end },
    letGo: () => {
      isHeld = false;
    },
  };
}

/**
 * Lets a run end, and waits for its result and for the reload two seconds later. Both waits begin before the end, so
 * that a slow test misses neither.
 */
async function endAndReload(page: Page, result: string, letEnd: () => void): Promise<void> {
  const loaded = page.waitForEvent('load');
  const shown = heading(page, result).waitFor();
  letEnd();
  await Promise.all([shown, loaded]);
}

describe.concurrent('a rollback', () => {
  it('is confirmed by keyboard, started once, and never called an update', async ({ expect }) => {
    const { run, letGo } = held(typicalRollback({ outcome: 'updated', version: 'v1.4.1' }), 'plan');
    const script = afterSaved({ speed: 4, rollbacks: [run] });
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await page.evaluate(`(() => {
        window.titles = [document.title];
        new MutationObserver(() => { if (titles.at(-1) !== document.title) titles.push(document.title); sessionStorage.titles = titles.join(' | '); })
          .observe(document.head, { subtree: true, childList: true, characterData: true });
      })()`);
      await notice(page).getByRole('button').first().press('Enter');
      await dialog(page).locator('summary').press('Enter');
      await button(page, 'Roll back to v1.4.1…').press('Enter');
      // The button is gone, and the heading has the focus, so that no other button is pressed by mistake.
      await button(page, 'Roll back…').waitFor();
      expect(await focused(page)).toBe('h2 Roll back svc');
      await button(page, 'Roll back…').press('Enter');
      expect(await focused(page)).toBe('h2 Roll back svc');
      await button(page, 'Cancel').press('Enter');
      // Closing the dialog discards the rollback request.
      await page.keyboard.press('Escape');
      await notice(page).getByRole('button').first().press('Enter');
      await heading(page, 'v1.4.2 is running').waitFor();
      await button(page, 'Roll back to v1.4.1…').press('Enter');
      await button(page, 'Roll back…').press('Enter');
      await button(page, 'Roll back to v1.4.1').dblclick();
      await heading(page, 'v1.4.2 → v1.4.1').waitFor();
      expect(await dialog(page).locator('h2').innerText()).toBe('Rolling back svc');
      expect(await notice(page).locator('.pill').innerText()).toMatch(/^Rolling back…/);
      server.attributes = 'admin version="v1.4.1"';
      await endAndReload(page, 'Rolled back to v1.4.1', letGo);
      await notice(page).locator('.toast').getByText('Rolled back to v1.4.1').waitFor();
      expect(await page.evaluate('sessionStorage.titles')).not.toContain('Updating');
      const posts = server.asked.filter(({ method }) => method === 'POST');
      expect(posts).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });
});

describe.concurrent('new settings of a release', () => {
  const usual = {
    description: '',
    required: true,
    secret: false,
    default: null,
    generated: false,
    isSet: false,
  };
  const settings = [
    { ...usual, name: 'SMTP_HOST', description: 'Mail server' },
    { ...usual, name: 'SMTP_PASSWORD', secret: true },
    { ...usual, name: 'SMTP_PORT', required: false, default: '25' },
  ];
  const next = { version: 'v1.5.0', major: false, settings };

  it('are entered before the update, keep their values after a rejected request, and are sent', async ({
    expect,
  }) => {
    const posts: string[] = [];
    const job = { kind: 'backup', state: 'running', title: 'nightly', since: null, stuck: false } as const;
    const script = {
      ...standing,
      speed: 4,
      status: { latest, next },
      runs: [staysIn('pull')],
      // The job starts when the first update request is sent.
      jobs: [
        {
          ...job,
          get seconds() {
            return posts.length > 0 ? Number.POSITIVE_INFINITY : 0;
          },
        },
      ],
      intercept: async (request: Request) => {
        if (request.method === 'POST') posts.push(await request.clone().text());
        return undefined;
      },
    };
    await visit(browser, script, {}, async ({ page, complaints }) => {
      const field = (name: string) => dialog(page).locator(`input[name=${name}]`);
      await notice(page).getByRole('button').first().click();
      expect(await field('SMTP_PORT').inputValue()).toBe('25');
      await field('SMTP_HOST').fill('mail');
      await button(page, 'Update now').click();
      await dialog(page).getByRole('alert').getByText('Enter a value for SMTP_PASSWORD.').waitFor();
      expect(
        await page.evaluate(`document.querySelector('svc-update-dialog').shadowRoot.activeElement.name`),
      ).toBe('SMTP_PASSWORD');
      expect(posts).toEqual([]);
      await page.keyboard.type('hunter2');
      expect(await dialog(page).getByText('Enter a value').count()).toBe(0);
      expect(await dialog(page).innerHTML()).not.toContain('hunter2');
      expect(await axeFindings(page)).toEqual([]);
      // The server rejects the request, and the fields keep their values.
      await button(page, 'Update now').click();
      await button(page, 'Update when idle').waitFor();
      expect(await field('SMTP_HOST').inputValue()).toBe('mail');
      expect(await field('SMTP_PASSWORD').inputValue()).toBe('hunter2');
      await button(page, 'Update anyway…').click();
      await button(page, 'Interrupt jobs and update').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      expect(await dialog(page).locator('input').count()).toBe(0);
      const values = { SMTP_HOST: 'mail', SMTP_PASSWORD: 'hunter2' };
      expect(posts).toEqual([
        JSON.stringify({ target: 'v1.5.0', settings: values }),
        JSON.stringify({ target: 'v1.5.0', force: true, settings: values }),
      ]);
      expect(complaints).toEqual([]);
    });
  });
});

describe.concurrent('a notice', () => {
  it('offers a rollback of a recalled version', async ({ expect }) => {
    const { run, letGo } = held(typicalRollback({ outcome: 'updated', version: 'v1.4.1' }), 'plan');
    const recalled = scenes.find(({ name }) => name === 'recalled')?.script() ?? {};
    const script = { ...recalled, speed: 4, rollbacks: [run] };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      const pill = button(page, 'v1.4.2 was recalled');
      expect(await pill.getAttribute('title')).toBe('It deletes backups.');
      await pill.click();
      await dialog(page).getByText('It deletes backups.').waitFor();
      await button(page, 'Roll back to v1.4.1…').click();
      await button(page, 'Roll back…').click();
      await button(page, 'Roll back to v1.4.1').click();
      server.attributes = 'admin version="v1.4.1"';
      await endAndReload(page, 'Rolled back to v1.4.1', letGo);
      await button(page, 'svc v1.4.1, open update dialog').waitFor();
      expect(await pill.count()).toBe(0);
      expect(complaints).toEqual([]);
    });
  });

  it('shows the reason for a security update', async ({ expect }) => {
    const urgent = { below: 'v1.5.0', why: 'Sessions can be stolen.' };
    await visit(browser, { ...standing, status: { latest, urgent } }, {}, async ({ page }) => {
      const pill = button(page, 'Security update to v1.5.0');
      expect(await pill.getAttribute('title')).toBe('Sessions can be stolen.');
    });
  });
});

describe.concurrent('an update', () => {
  it('is started by a button and finishes with the page of the new version', async ({ expect }) => {
    const buildServers = [{ name: 'build-2', version: 'v1.4.0', outdated: true, command: 'svc update' }];
    // Each of these states lasts until a slow page has shown it.
    const pull = held(typicalRun(), 'pull');
    const recreate = held(pull.run, 'recreate');
    const script = {
      ...standing,
      speed: 2,
      runs: [recreate.run],
      status: { latest, buildServers },
      jobs: [{ kind: 'deployment', state: 'queued', title: 'mail', since: null, stuck: false }] as const,
    };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await page.evaluate(`(() => {
        window.told = JSON.parse(sessionStorage.told ?? '[]');
        for (const name of ['start', 'end', 'reload'])
          document.addEventListener('svc-update-' + name, ({ detail }) => { told.push(name + ' ' + detail.run.id); sessionStorage.told = JSON.stringify(told); });
        window.titles = [document.title];
        new MutationObserver(() => { if (titles.at(-1) !== document.title) titles.push(document.title); sessionStorage.title = document.title; })
          .observe(document.head, { subtree: true, childList: true, characterData: true });
      })()`);
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update anyway…').click();
      await button(page, 'Interrupt jobs and update').dblclick();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await button(page, 'Cancel').waitFor();
      const titles = () => page.evaluate<string[]>('titles');
      await expect.poll(titles, patient).toContain('100 % – svc');
      pull.letGo();
      await heading(page, 'svc is restarting…').waitFor();
      const away = expect.stringMatching(/^unavailable \d+ s – svc$/);
      await expect.poll(titles, patient).toContainEqual(away);
      server.attributes = 'admin version="v1.5.0"';
      await endAndReload(page, 'Updated to v1.5.0', recreate.letGo);
      expect(await page.evaluate('sessionStorage.title')).toBe('✓ v1.5.0 – svc');
      await notice(page).getByText('Updated to v1.5.0').waitFor();
      const told = await notice(page).locator('.toast').innerText();
      expect(told).toMatch(/\d+ s downtime · 1 queued job is now running/);
      expect(told).toContain('build-2 is running v1.4.0');
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

  it('is shown to users without details, and an old page offers to reload', async ({ expect }) => {
    const user = { ...standing, authorize: () => 'user' as const };
    const options = { attributes: 'admin version="1.4.2"', prepare: stopClock };
    await visit(browser, { ...user, open: staysIn('pull') }, options, async ({ page, server }) => {
      await notice(page).getByText('Updating…').waitFor();
      expect(await notice(page).getByRole('button').count()).toBe(0);
      await server.play({ ...user, status: { version: 'v1.5.0', next: null } });
      await page.clock.runFor(5_000);
      await notice(page).getByText('v1.5.0').waitFor();
      // A single response may come from a server that is about to stop.
      expect(await button(page, 'Reload for v1.5.0').count()).toBe(0);
      await page.clock.runFor(60_000);
      await button(page, 'Reload for v1.5.0').waitFor();
    });
  });

  it('is not requested twice if the response is lost, and is cancelled by a second press', async ({
    expect,
  }) => {
    let cancels = 0;
    const intercept = ({ method }: Request) =>
      method === 'DELETE' && cancels++ === 0 ? new Response('<h1>502</h1>', { status: 502 }) : undefined;
    const script = { ...standing, intercept, runs: [staysIn('pull')] };
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

      const answered = page.waitForResponse((response) => response.status() === 502);
      await button(page, 'Cancel').click();
      await answered;
      await dialog(page).locator('button:not([aria-disabled])', { hasText: 'Cancel' }).click();
      await expect.poll(() => cancels).toBe(2);
    });
  });

  it('is not requested again if the request is lost, and the dialog reports that it was not started', async ({
    expect,
  }) => {
    await visit(browser, standing, {}, async ({ page, server }) => {
      let posts = 0;
      const { promise: asked, resolve: lose } = Promise.withResolvers<void>();
      await page.route('**/api/v1/instance/update', (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        posts += 1;
        return asked.then(() => route.abort());
      });
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').dblclick();
      // The request is still pending when the dialog opens again.
      await page.keyboard.press('Escape');
      await button(page, 'Update to v1.5.0').click();
      await heading(page, 'Starting the update…').waitFor();
      expect(await button(page, 'Update now').count()).toBe(0);
      lose();
      await heading(page, 'Nothing was started').waitFor();
      await dialog(page).getByText('Nothing was started').first().waitFor();
      expect([posts, server.asked.filter(({ method }) => method === 'POST')]).toEqual([1, []]);
    });
  });
});

describe.concurrent('an upgrade path', () => {
  const quickly = { steps: [{ state: 'pull' as const, seconds: 0.5 }], end: { outcome: 'updated' as const } };

  it('is completed after one press, even if the page is reloaded', async ({ expect }) => {
    let waits = true;
    const pendingSteps = [{ seconds: 0.5, reason: 'old builds are being moved', lasts: () => waits }];
    const script = { ...twoUpdates, runs: [quickly], pendingSteps };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await notice(page).getByRole('button', { name: 'Update to v2.0.0' }).press('Enter');
      await dialog(page).getByRole('button', { name: 'Update to v2.0.0' }).press('Enter');
      await heading(page, 'svc v1.5.0 is not ready for the next update yet').waitFor();
      server.attributes = 'admin version="v1.5.0"';
      await page.reload();
      await button(page, 'Updating… 1 of 2').press('Enter');
      await heading(page, 'svc v1.5.0 is not ready for the next update yet').waitFor();
      expect(await dialog(page).locator('.stations').innerText()).toMatch(/^v1\.5\.0\s+v2\.0\.0$/);
      server.attributes = 'admin version="v2.0.0"';
      await endAndReload(page, 'Updated to v2.0.0', () => {
        waits = false;
      });
      await notice(page).locator('.toast').getByText('Updated to v2.0.0').waitFor();
      expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });
});

const setVisible = (page: Page, isVisible: boolean) =>
  page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => ${isVisible ? "'visible'" : "'hidden'"} });
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);

describe.concurrent('requests', () => {
  const visits = { prepare: stopClock };

  it('are sent once a minute for a notice, and never in a hidden tab', async ({ expect }) => {
    await visit(browser, standing, visits, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').waitFor();
      expect(server.asked.map(({ path }) => path)).toEqual(['/api/v1/instance/update']);
      for (let minute = 0; minute < 10; minute += 1) {
        await untilAnswered(page, () => page.clock.runFor(60_000));
        expect(server.asked).toHaveLength(minute + 2);
      }
      await setVisible(page, false);
      await page.clock.runFor(300_000);
      expect(server.asked).toHaveLength(11);
      await untilAnswered(page, () => setVisible(page, true));
      expect(server.asked).toHaveLength(12);
      await page.evaluate("dispatchEvent(new Event('online'))");
      await expect.poll(() => server.asked.length, patient).toBe(13);
    });
  });

  it('are sent every five seconds for an open dialog, and only a stream is open during a run', async ({
    expect,
  }) => {
    const script = { ...standing, runs: [staysIn('pull')] };
    await visit(browser, script, visits, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').click();
      await page.getByText('queue position').waitFor();
      const count = () => server.asked.filter(({ path }) => !path.includes('/history')).length;
      const before = count();
      for (let times = 1; times <= 4; times += 1) {
        await untilAnswered(page, () => page.clock.runFor(5_000));
        expect(count()).toBe(before + times);
      }
      // The release notes are requested once.
      expect(server.asked.filter(({ path }) => path.includes('notes=1'))).toHaveLength(1);
      await button(page, 'Update now').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await expect.poll(() => server.asked.filter(({ isStream }) => isStream).length, patient).toBe(1);
      const during = server.asked.length;
      await page.clock.runFor(14_000);
      expect(server.asked).toHaveLength(during);
      // The last request was more than five seconds ago.
      await untilAnswered(page, () => page.keyboard.press('Escape'));
      for (let times = 1; times <= 3; times += 1) await untilAnswered(page, () => page.clock.runFor(5_000));
      expect(server.asked.length - during).toBe(4);
      expect(server.asked.filter(({ isStream }) => isStream)).toHaveLength(1);
    });
  });
});

describe.concurrent('a user', () => {
  it('can do everything by keyboard, and never presses a button that has just changed', async ({
    expect,
  }) => {
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
      await dialog(page).waitFor({ state: 'hidden' });
      await expect.poll(() => focused(page), patient).toMatch(/^button (v1\.4\.2|Updating…)/);
      expect(await button(page, /^Updating…/).count()).toBe(1);
    });
  });

  it('of a screen reader hears each phase once, politely, and a failure immediately', async ({ expect }) => {
    const quick = (['launching', 'inspect', 'plan'] as const).map((state) => ({ state, seconds: 0.3 }));
    const says = ['pulling, 1 of 2 MB', 'pulling, 2 of 2 MB'].map((message, at) => ({
      message,
      percent: 50 * (at + 1),
    }));
    const { run, letGo } = held(
      {
        steps: [...quick, { state: 'pull', seconds: 0.3, says }],
        end: { outcome: 'failed', cause: 'no such tag', code: 'pull-unknown' },
      },
      'pull',
    );
    await visit(browser, { ...standing, runs: [run] }, { prepare: stopClock }, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').waitFor();
      await page.evaluate(`(() => {
        window.said = [];
        for (const region of document.querySelector('svc-update-dialog').shadowRoot.querySelectorAll('[aria-live]'))
          new MutationObserver(() => region.textContent && said.push(region.getAttribute('aria-live') + ' ' + region.textContent))
            .observe(region, { childList: true, characterData: true, subtree: true });
      })()`);
      await button(page, 'Update now').click();
      await dialog(page).getByText('Downloading').waitFor();
      // All phases up to this one are within two seconds of the page's clock.
      await page.clock.runFor(2_000);
      const histories = () => server.asked.filter(({ path }) => path.endsWith('/history')).length;
      const before = histories();
      letGo();
      await heading(page, 'The update failed').waitFor();
      // The past updates contain the failed one although the dialog stays open.
      await expect.poll(histories, patient).toBe(before + 1);
      await page.clock.runFor(2_000);
      expect(await page.evaluate('said')).toEqual([
        'polite Downloading',
        'assertive The update failed · No such tag.',
      ]);
    });
  });
});

describe.concurrent('on a page', () => {
  it('an automatic update is shown to admins until they dismiss it', async ({ expect }) => {
    const endedAt = new Date().toISOString();
    const itself = pastRun({ id: 'last', from: 'v1.4.1', to: 'v1.4.2', by: 'automatic', endedAt });
    const script = { ...standing, status: { next: null }, history: [itself, ...history] };
    await visit(browser, script, {}, async ({ page, context, complaints }) => {
      const toast = (of: Page) => notice(of).locator('.toast');
      await toast(page).waitFor();
      expect(await toast(page).innerText()).toMatch(
        /^svc was updated automatically at \d\d:\d\d\s+v1\.4\.2 · 2 s downtime/,
      );
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
      expect(complaints).toEqual([]);
    });
  });

  it('elements use their base address, and a dialog in a collapsed sidebar is visible', async ({
    expect,
  }) => {
    const path = '/api/v2/update';
    const body = `<div hidden><svc-update-dialog base="${path}"></svc-update-dialog></div>
<svc-update-channel base="${path}"></svc-update-channel>`;
    const options = { attributes: `admin version="v1.4.2" base="${path}/"`, body };
    await visit(browser, { ...standing, path }, options, async ({ page, server, complaints }) => {
      await button(page, 'Update to v1.5.0').waitFor();
      await page.evaluate(
        "import('/elements.mjs').then(({ setTexts }) => setTexts({ product: 'Acme', updateTo: (version) => 'Auf ' + version }))",
      );
      await button(page, 'Auf v1.5.0').click();
      await dialog(page).getByRole('heading', { name: 'Update Acme' }).waitFor();
      expect(await page.locator('svc-update-dialog').count()).toBe(1);
      await button(page, 'Skip this version').click();
      await page.getByText(/^You skipped v1\.5\.0/).waitFor();
      await page.keyboard.press('Escape');
      expect(await button(page, 'Auf v1.5.0').count()).toBe(0);
      await page.locator('svc-update-channel').getByText('canary', { exact: true }).click();
      await button(page, 'Save').click();
      await page.getByText('Saved: the channel is canary.').waitFor();
      expect(server.asked.every(({ path: asked }) => asked.startsWith(path))).toBe(true);
      expect(complaints).toEqual([]);
    });
  });

  it('a check after a failure dismisses the result, and offers a newer release', async ({ expect }) => {
    const newer = { ...latest, version: 'v1.5.1' };
    const run = pastRun({ outcome: 'failed', state: 'failed', from: 'v1.4.2', to: 'v1.5.0' });
    const afterRefresh = { latest: newer, next: { version: newer.version, major: false } };
    const script = { ...standing, history: [run], afterRefresh };
    await visit(browser, script, {}, async ({ page, server, complaints }) => {
      await button(page, 'Update failed').click();
      await button(page, 'Try again').waitFor();
      await button(page, 'Check again').click();
      await dialog(page).getByRole('heading', { name: 'v1.5.1 is available' }).waitFor();
      await button(page, 'Check again').waitFor();
      expect(await button(page, 'Update failed').count()).toBe(0);
      expect(server.asked.every(({ method }) => method === 'GET')).toBe(true);
      expect(complaints).toEqual([]);
    });
  });

  it('settings are sent by a button, and the channel is sent last', async ({ expect }) => {
    const body = '<h2>Updates</h2><svc-update-settings></svc-update-settings>';
    // A time window that begins neither today nor tomorrow, so that the update is not due during the test.
    const inThreeDays = dayNames[(new Date().getUTCDay() + 2) % 7] ?? 'mon'; // getUTCDay starts on Sunday, dayNames on Monday
    const off = { ...automatic, enabled: false, days: [inThreeDays], nextAt: null };
    const script = { ...standing, status: { latest, automatic: off } };
    await visit(browser, script, { body }, async ({ page, server, complaints }) => {
      const sent = () =>
        server.asked.filter(({ method }) => method === 'PUT').map(({ path }) => path.split('/').at(-1));
      await page.getByText('Automatic updates are off.').waitFor();
      await page.getByRole('switch', { name: /^Install updates automatically/ }).press('Space');
      await page.getByText('You have unsaved changes.').waitFor();
      const tabbed: string[] = [];
      while (tabbed.at(-1) !== 'submit' && tabbed.length < 40) {
        await page.keyboard.press('Tab');
        const name = await page.evaluate(
          'document.activeElement.shadowRoot?.activeElement?.name || document.activeElement.shadowRoot?.activeElement?.type',
        );
        if (name !== tabbed.at(-1)) tabbed.push(String(name));
        if (name === 'timeZone') {
          await page.keyboard.press('Control+A');
          await page.keyboard.type('Moon/Tycho');
        }
      }
      expect(tabbed).toEqual([
        'from',
        'to',
        'timeZone',
        'days',
        'age',
        'includeMajors',
        'rehearse',
        'submit',
      ]);
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 720 });
        expect(await stickingOut(page)).toEqual([]);
      }
      expect(await axeFindings(page)).toEqual([]);
      await page.locator('svc-update-settings').getByText('canary', { exact: true }).click();
      expect(sent()).toEqual([]);

      await button(page, 'Save').press('Enter');
      await page
        .getByText(/^Not saved: .*timeZone must be a time zone.* The channel is still stable\.$/)
        .waitFor();
      expect(sent()).toEqual(['automatic']);
      await page.getByLabel('Time zone').fill('UTC');
      await button(page, 'Save').press('Enter');
      await page
        .getByText(
          /^Saved: the channel is canary\. The next automatic update can start .* after 02:00 \(UTC\)\.$/,
        )
        .waitFor();
      expect(sent()).toEqual(['automatic', 'automatic', 'channel']);
      await page.reload();
      await page.getByText('The next automatic update can start').waitFor();
      expect(await page.getByLabel('Time zone').inputValue()).toBe('UTC');
      expect(complaints).toEqual([]);
    });
  });
});

describe.concurrent('a dialog', () => {
  const shown = ['jobs-anyway', 'path-between', 'failed', 'rehearsal-failed'];
  it.for(scenes.filter(({ name }) => shown.includes(name)))(
    'is accessible in the state $name',
    async ({ script, visit: options = {}, act, heading: name }, { expect }) => {
      await visit(browser, script(), options, async ({ page, complaints }) => {
        await notice(page).getByRole('button').first().click();
        await act?.(page);
        await heading(page, name).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'dark' });
        expect(await axeFindings(page, ['color-contrast'])).toEqual([]);
        await page.setViewportSize({ width: 320, height: 720 });
        expect(await stickingOut(page)).toEqual([]);
        expect(complaints).toEqual([]);
      });
    },
  );

  it('tries an update on a copy, shows the result, and cancels the next try', async ({ expect }) => {
    await visit(browser, { ...standing, speed: 4 }, {}, async ({ page, server, complaints }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Try on a copy').click();
      await page.getByText('The rehearsal of v1.5.0 succeeded').waitFor();
      await page.getByText(/^svc will be unavailable for at least 43 s/).waitFor();
      expect(await button(page, 'Update now').isVisible()).toBe(true);
      await button(page, 'Try on a copy').click();
      await button(page, 'Cancel rehearsal').click();
      await page.getByText('The rehearsal of v1.5.0 was cancelled').waitFor();
      const sent = server.asked.filter(({ path }) => path.endsWith('/rehearsal')).map(({ method }) => method);
      expect(sent).toEqual(['POST', 'POST', 'DELETE']);
      expect(complaints).toEqual([]);
    });
  });

  it('stays open if the script of the page prevents the reload', async ({ expect }) => {
    const run = { steps: [{ state: 'pull' as const, seconds: 0.2 }], end: { outcome: 'updated' as const } };
    const prepare = (page: Page) =>
      page.addInitScript("addEventListener('svc-update-reload', (event) => event.preventDefault())");
    await visit(browser, { ...standing, runs: [run] }, { prepare }, async ({ page, server }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Update now').click();
      await heading(page, 'Updated to v1.5.0').waitFor();
      server.attributes = 'admin version="v1.5.0"';
      await page.getByText('Reloading this page…').waitFor({ state: 'hidden' });
      expect(await button(page, 'Reload now').isVisible()).toBe(true);
    });
  });
});
