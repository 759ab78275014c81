import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type Script, typicalRollback } from '../../src/server/testing/index.ts';
import { read } from '../documents/documents.ts';
import { openBrowser, visit } from '../rig/web/browser.ts';
import { readElements } from '../rig/web/page-server.ts';
import { afterSaved, anna, history, latest, pastRun, releases, staysIn } from '../rig/web/scenes.ts';

// Login and logout of a page, and the headers of its requests (docs/contract.md 10.11).

/** The machine may be busy. */
const patient = { timeout: 30_000 };

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const dialog = (page: Page) => page.locator('svc-update-dialog dialog');
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const heading = (page: Page, name: string) => dialog(page).getByRole('heading', { level: 3, name });

/** The example below a heading of docs/web.md, for a page that serves the file itself. */
const exampleOf = (heading: string): string => {
  const [, code = ''] =
    new RegExp(`^## ${heading}\\n[^]*?^\`\`\`js\\n([^]*?)^\`\`\``, 'm').exec(read('docs/web.md')) ?? [];
  return code.replace('svc-updater/web', '/elements.mjs');
};

/** Stops the clock of the page from the start: it moves only with `clock.runFor`. */
async function stopClock(page: Page): Promise<void> {
  const now = Date.now();
  await page.clock.install({ time: now - 3_600_000 });
  await page.clock.pauseAt(now);
}

/** Everything that the elements contain, visible or not. */
const contentOf = (page: Page): Promise<string> =>
  page.evaluate(`[...document.querySelectorAll('svc-update-notice, svc-update-dialog, svc-update-settings')]
    .map(({ shadowRoot }) => shadowRoot.innerHTML + [...shadowRoot.querySelectorAll('input, textarea')].map(({ type, checked, value }) => type + checked + value))
    .join()`);

/** A page that stores a token in `localStorage`, as most single-page apps do. */
const tokenPage = {
  attributes: 'admin',
  body: '<script type="module" src="/page.js"></script><svc-update-settings></svc-update-settings>',
  files: {
    '/page.js': `${exampleOf('Login')}
      window.logIn = (token) => { localStorage.setItem('token', token); refresh(); };
      window.logOut = () => { localStorage.removeItem('token'); refresh(); };`,
  },
  prepare: stopClock,
};

const withToken: Script = {
  status: { latest },
  releases,
  history,
  authorize: ({ headers }) =>
    headers.get('authorization') === 'Bearer anna' && !headers.has('cookie') ? anna : null,
};

describe.concurrent('a page with a token', () => {
  it('is active immediately after the login, even if the first request had no token', async ({ expect }) => {
    await visit(browser, withToken, tokenPage, async ({ page, server, complaints }) => {
      await page.getByText('You are not logged in.').waitFor();
      // The script of the page runs after the elements.
      const before = server.asked.length;
      expect(server.asked.every(({ headers }) => headers.authorization === undefined)).toBe(true);
      expect(before).toBeLessThanOrEqual(1);
      await page.clock.runFor(300_000);
      expect(server.asked).toHaveLength(before);
      await page.evaluate("logIn('anna')");
      await button(page, 'Update to v1.5.0').waitFor();
      expect(server.asked.slice(before)).toMatchObject([{ headers: { authorization: 'Bearer anna' } }]);
      await page.getByRole('radio', { name: /^stable/, checked: true }).waitFor();

      // The page is active without a login if the token is still stored.
      await page.reload();
      await button(page, 'Update to v1.5.0').waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('forgets everything at the logout, even what arrives later', async ({ expect }) => {
    const { promise: late, resolve: release } = Promise.withResolvers<Response>();
    let holds = false;
    const automatic = pastRun({ id: 'auto', by: 'automatic', endedAt: new Date().toISOString() });
    const script: Script = {
      ...withToken,
      history: [automatic, ...history],
      intercept: ({ url }) => (holds && url.endsWith('/history') ? late : undefined),
    };
    const prepare = async (page: Page) => {
      await stopClock(page);
      // Collects the bodies of the responses with the history.
      await page.addInitScript(`const original = fetch;
        window.histories = [];
        window.fetch = (url, init) => {
          const response = original(url, init);
          if (url.endsWith('/history')) histories.push(response.then((one) => one.clone().text()).catch(() => {}));
          return response;
        };`);
    };
    await visit(browser, script, { ...tokenPage, prepare }, async ({ page, context, server, complaints }) => {
      const histories = () => server.asked.filter(({ path }) => path.endsWith('/history')).length;
      const secret = /v1\.|queue position|Channel|radiotrue|anna|mallory/;
      const channels =
        /Every change as soon as it is built.*?stable release is available\.|Stable releases with/g;
      const left = async () => (await contentOf(page)).replace(channels, '');
      const readAll = async () => {
        await page.evaluate("logIn('anna')");
        await page.locator('.toast').getByText('v1.4.2').waitFor();
        await page.locator('svc-update-settings').getByText('canary', { exact: true }).click();
        await button(page, 'Update to v1.5.0').click();
        await page.getByText('queue position').waitFor();
        await dialog(page).getByText('Channel: stable').waitFor();
        expect(await left()).toMatch(/radiotruecanary/);
      };
      await readAll();
      await page.keyboard.press('Escape');
      await page.evaluate('logOut()');
      await page.getByText('You are not logged in.').waitFor();
      expect(await left()).not.toMatch(secret);

      holds = true;
      const before = histories();
      await readAll();
      await expect.poll(histories, patient).toBe(before + 1);
      await page.evaluate('logOut()');
      await heading(page, 'You are not logged in').waitFor();
      expect(await left()).not.toMatch(secret);
      expect(await page.title()).toBe('svc');

      // The login in another tab. The response that was held belongs to the session before.
      holds = false;
      const other = await context.newPage();
      await other.goto(page.url());
      await other.evaluate("logIn('anna')");
      await dialog(page).locator('summary').getByText('last update').waitFor();
      release(Response.json([pastRun({ by: 'mallory' })]));
      await page.evaluate('Promise.all(histories)');
      expect(await left()).not.toContain('mallory');
      expect(complaints).toEqual([]);
    });
  });

  it('sends the current token when the event stream reconnects', async ({ expect }) => {
    let count = 0;
    const files = {
      '/page.js': `import { setAuthorization } from '/elements.mjs';
        let count = 0;
        setAuthorization(async () => 'Bearer ' + ++count);`,
    };
    const streams: string[] = [];
    const script: Script = {
      ...withToken,
      authorize: () => anna,
      open: staysIn('pull'),
      intercept: ({ headers }) => {
        if (headers.get('accept') !== 'text/event-stream') return undefined;
        streams.push(headers.get('authorization') ?? '');
        // The first two streams end without an event.
        return ++count > 2
          ? undefined
          : new Response('', { headers: { 'Content-Type': 'text/event-stream' } });
      },
    };
    await visit(browser, script, { ...tokenPage, files, prepare: async () => {} }, async ({ page }) => {
      await button(page, /^Updating…/).click();
      await expect.poll(() => streams.length, patient).toBe(3);
      expect(new Set(streams).size).toBe(3);
      expect(streams.every((sent) => /^Bearer \d+$/.test(sent))).toBe(true);
    });
  });

  it('is active immediately after the login, even if its function did not answer before', async ({
    expect,
  }) => {
    const files = {
      '/page.js': `import { refresh, setAuthorization } from '/elements.mjs';
        let token = new Promise(() => {});
        setAuthorization(() => token);
        window.logIn = () => { token = Promise.resolve('Bearer anna'); refresh(); };`,
    };
    await visit(browser, withToken, { ...tokenPage, files }, async ({ page, server }) => {
      await page.waitForFunction('window.logIn');
      await page.clock.runFor(1_000);
      await page.evaluate('logIn()');
      await button(page, 'Update to v1.5.0').waitFor();
      // The time of the first function ends.
      await page.clock.runFor(10_000);
      await page.evaluate('null');
      expect(await button(page, 'Update to v1.5.0').isVisible()).toBe(true);
      const sent = server.asked.filter(({ headers }) => headers.authorization !== undefined);
      expect(sent).toMatchObject([{ headers: { authorization: 'Bearer anna' } }]);
    });
  });

  it('has no link to the report, which could not send the token', async ({ expect }) => {
    const failed = { ...history[1], id: 'last', to: 'v1.5.0' } as (typeof history)[number];
    const script = { ...withToken, history: [failed, ...history] };
    await visit(browser, script, tokenPage, async ({ page }) => {
      await page.evaluate("logIn('anna')");
      await button(page, 'Update failed').click();
      await button(page, 'Copy report').waitFor();
      expect(await dialog(page).getByText('Download report').count()).toBe(0);
    });
  });
});

describe.concurrent('a page with a cookie', () => {
  it('reports a logout during an update, and waits for a login', async ({ expect }) => {
    let isLoggedIn = true;
    const script: Script = {
      ...withToken,
      authorize: () => (isLoggedIn ? anna : null),
      open: staysIn('pull'),
    };
    await visit(browser, script, { prepare: stopClock }, async ({ page, server, complaints }) => {
      await button(page, /^Updating…/).click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      isLoggedIn = false;
      await page.keyboard.press('Escape');
      await button(page, /^Updating…/).click();
      await heading(page, 'You are not logged in').waitFor();
      await dialog(page).locator('p').getByText('If an update is in progress, it continues.').waitFor();
      expect(await button(page, 'Reload').isVisible()).toBe(true);
      expect(await page.locator('svc-update-notice [part=bar]').innerText()).toBe('v1.4.2');
      const count = () => server.asked.length;
      await expect.poll(count, patient).toBeGreaterThan(3);
      const before = count();
      await page.keyboard.press('Escape');
      await page.locator('svc-update-notice button').click();
      await heading(page, 'You are not logged in').waitFor();
      await page.clock.runFor(59_000);
      await page.evaluate("dispatchEvent(new Event('online'))");
      expect(count()).toBe(before);
      await page.clock.runFor(1_000);
      await expect.poll(count, patient).toBe(before + 1);

      isLoggedIn = true;
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it.for(['reloads the page', 'does not reload the page'])(
    'shows the result of a rollback that restored the sessions once, after a login that %s',
    async (login, { expect }) => {
      let isLoggedIn = true;
      let isHeld = true;
      const { steps, end } = typicalRollback();
      const lasts = () => isHeld;
      const run = { steps: steps.map((step) => (step.state === 'verify' ? { ...step, lasts } : step)), end };
      const script = afterSaved({
        speed: 20,
        rollbacks: [run],
        authorize: () => (isLoggedIn ? anna : null),
      });
      await visit(browser, script, {}, async ({ page, complaints }) => {
        const toast = page.locator('svc-update-notice .toast');
        await page.locator('svc-update-notice').getByRole('button').click();
        await dialog(page).locator('summary').click();
        for (const name of ['Roll back to v1.4.1…', 'Roll back…', 'Roll back to v1.4.1'])
          await button(page, name).click();
        await dialog(page).getByText('Verifying').waitFor();
        isLoggedIn = false;
        // The page requests the status when it is shown again.
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        await heading(page, 'You are not logged in').waitFor();
        isHeld = false;
        if (login === 'reloads the page') await page.reload();
        isLoggedIn = true;
        if (login === 'reloads the page') await page.reload();
        else await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        await toast.getByText('Rolled back to v1.4.1').waitFor();
        await page.reload();
        await button(page, /^svc v1\.4\.1/).waitFor();
        expect(await toast.isVisible()).toBe(false);
        expect(complaints).toEqual([]);
      });
    },
  );
});

it('a single-page app shows the notice after the login, and removes it at the logout', async ({ expect }) => {
  const [, showUpdates = ''] =
    /^```js\n(function showUpdates[\s\S]*?)^```/m.exec(read('docs/your-product.md')) ?? [];
  const files = {
    '/page.js': `import { refresh } from '/elements.mjs';\n${showUpdates}window.showUpdates = showUpdates;`,
  };
  const wholeBody = '<header><h1>svc</h1></header><script type="module" src="/page.js"></script>';
  let isLoggedIn = false;
  const script: Script = { status: { latest }, authorize: () => (isLoggedIn ? anna : null) };
  await visit(browser, script, { wholeBody, files }, async ({ page, complaints }) => {
    const show = (me: object | null) => page.evaluate(`showUpdates(${JSON.stringify(me)})`);
    const notice = page.locator('header svc-update-notice');
    for (const _ of [1, 2]) {
      isLoggedIn = true;
      await show({ version: 'v1.4.2', role: 'admin', hasUpdates: true });
      await button(page, 'Update to v1.5.0').waitFor();
      isLoggedIn = false;
      await show(null);
      expect(await notice.count()).toBe(0);
    }
    expect(complaints).toEqual([]);
  });
});

describe.concurrent('further headers of a page', () => {
  it('pass the CSRF middleware of the product', async ({ expect }) => {
    const files = { '/page.js': exampleOf('CSRF middleware') };
    const body = '<meta name="csrf-token" content="s3cret"><script type="module" src="/page.js"></script>';
    const script: Script = {
      status: { latest },
      runs: [staysIn('pull')],
      authorize: () => anna,
      intercept: ({ method, headers }) =>
        method === 'GET' || headers.get('x-csrf-token') === 's3cret'
          ? undefined
          : new Response('CSRF verification failed.', { status: 403 }),
    };
    await visit(browser, script, { body, files }, async ({ page, server, complaints }) => {
      await button(page, 'Update to v1.5.0').click();
      await button(page, 'Skip this version').click();
      await button(page, 'Offer again').click();
      await button(page, 'Update now').click();
      await heading(page, 'v1.4.2 → v1.5.0').waitFor();
      await button(page, 'Cancel').click();
      const sent = () => server.asked.map(({ method }) => method).filter((method) => method !== 'GET');
      await expect.poll(sent, patient).toEqual(['PUT', 'PUT', 'POST', 'DELETE']);
      expect(complaints).toEqual([]);
    });
  });

  it('can come from an endpoint of the product', async ({ expect }) => {
    const [setToken = ''] = /^setHeaders\(async .*$/m.exec(read('docs/web.md')) ?? [];
    const files = {
      '/csrf': '{ "token": "s3cret" }',
      '/page.js': `import { setHeaders } from '/elements.mjs'; ${setToken}`,
    };
    const body = '<script type="module" src="/page.js"></script>';
    await visit(
      browser,
      { status: { latest }, authorize: () => anna },
      { body, files },
      async ({ page, server }) => {
        await button(page, 'Update to v1.5.0').click();
        await button(page, 'Skip this version').click();
        await button(page, 'Offer again').waitFor();
        const sent = server.asked.find(({ method }) => method === 'PUT');
        expect(sent?.headers['x-csrf-token']).toBe('s3cret');
      },
    );
  });

  it('never reach another origin, and cannot replace headers of the browser', async ({ expect }) => {
    const reached: string[] = [];
    const other = createServer((request, response) => {
      reached.push(request.url ?? '');
      response.setHeader('Access-Control-Allow-Origin', '*').end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, resolve));
    const away = `http://localhost:${(other.address() as AddressInfo).port}`;
    const files = {
      '/page.js': `import { refresh, setAuthorization, setHeaders } from '/elements.mjs';
        setHeaders(() => ({ Host: 'evil', Origin: 'https://evil', cookie: 'a=b', 'Sec-Fetch-Site': 'none', 'X-A': '1' }));
        setAuthorization(() => 'Bearer secret');`,
    };
    const script: Script = {
      status: { latest },
      authorize: () => anna,
      intercept: () => Response.redirect(`${away}/login`, 302),
    };
    const body = `<script type="module" src="/page.js"></script><svc-update-notice base="${away}/api"></svc-update-notice>`;
    try {
      await visit(browser, script, { body, files, policy: '' }, async ({ page, server }) => {
        const sent = () =>
          server.asked.find(({ headers }) => headers.authorization === 'Bearer secret')?.headers;
        await expect.poll(sent, patient).toMatchObject({
          host: `localhost:${server.port}`,
          'sec-fetch-site': 'same-origin',
          'x-a': '1',
          accept: 'application/json',
        });
        expect([sent()?.origin, sent()?.cookie]).toEqual([undefined, undefined]);
        await button(page, 'svc v1.4.2, open update dialog').click();
        await heading(page, 'You are not logged in').waitFor();
        expect(reached).toEqual([]);
        const stored = await page.evaluate<string>(
          'JSON.stringify([localStorage, sessionStorage, location.href])',
        );
        expect(stored).not.toContain('secret');
        expect(server.asked.map(({ path }) => path).join()).not.toContain('secret');
      });
    } finally {
      other.closeAllConnections();
      await new Promise((resolve) => other.close(resolve));
    }
  });
});

describe.concurrent('the loader', () => {
  it('tries again until the service responds', async ({ expect }) => {
    // By address: the browser itself repeats a request whose connection was closed.
    const attempts = new Set<string>();
    const script: Script = {
      ...withToken,
      authorize: () => anna,
      intercept: async ({ url }) => {
        if (!new URL(url).pathname.endsWith('/elements.js')) return undefined;
        attempts.add(url);
        if (attempts.size === 1) return new Response('unavailable', { status: 503 });
        if (attempts.size === 2) return Response.error();
        return new Response(await readElements(), { headers: { 'Content-Type': 'text/javascript' } });
      },
    };
    const files = { '/elements.mjs': '', '/page.js': exampleOf('Load the file') };
    const body = '<script type="module" src="/page.js"></script>';
    await visit(browser, script, { body, files, prepare: stopClock }, async ({ page, complaints }) => {
      await expect.poll(() => page.clock.runFor(5_000).then(() => attempts.size), patient).toBe(3);
      await button(page, 'larder v1.4.2, open update dialog').waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('of a product in another language finds the file in the image', ({ expect }) => {
    const [, path = ''] = /^COPY --from=\S+ (\S+) /m.exec(read('docs/web.md')) ?? [];
    expect(read('Dockerfile')).toContain(`COPY dist/web/index.mjs ${path}\n`);
  });
});
