import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Script } from '../../../src/server/testing/index.ts';
import { type PageServer, servePage } from './page-server.ts';

/** Debian's headless shell, which is twice as fast as the full browser. The environment can select another browser. */
const program = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';
const withoutNetlink = fileURLToPath(new URL('./without-netlink', import.meta.url));

/** Starts a browser. Starting is slow, so each test file uses one browser. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: withoutNetlink,
    env: { ...process.env, PROGRAM: program },
    // The sandbox does not work for root in a container.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });

export interface Visit {
  page: Page;
  context: BrowserContext;
  server: PageServer;
  /** Errors and policy violations of the page. */
  complaints: string[];
}

export interface VisitOptions extends BrowserContextOptions {
  attributes?: string;
  body?: string;
  wholeBody?: string;
  /** Scripts and style sheets of the page, by path. */
  files?: Record<string, string>;
  policy?: string;
  /** The host name of the address; default `localhost`. */
  host?: string;
  /** Called before the page is opened. */
  prepare?(page: Page): Promise<unknown>;
}

/** Opens a page with the elements and a scripted server, and closes it after the visit. */
export async function visit(
  browser: Browser,
  script: Script,
  options: VisitOptions,
  look: (visit: Visit) => Promise<void>,
): Promise<void> {
  const {
    attributes,
    body,
    wholeBody,
    files,
    policy,
    host = 'localhost',
    prepare,
    ...contextOptions
  } = options;
  const server = await servePage(script);
  if (attributes !== undefined) server.attributes = attributes;
  if (body !== undefined) server.body = body;
  if (wholeBody !== undefined) server.wholeBody = wholeBody;
  Object.assign(server.files, files);
  if (policy !== undefined) server.policy = policy;
  const context = await browser.newContext({ viewport: { width: 768, height: 720 }, ...contextOptions });
  try {
    // The machine may be busy.
    context.setDefaultTimeout(90_000);
    const page = await context.newPage();
    const complaints = listen(page);
    await prepare?.(page);
    await page.goto(`http://${host}:${server.port}/`);
    await look({ page, context, server, complaints });
  } finally {
    await context.close();
    await server.close();
  }
}

function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The browser itself reports failed requests.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return complaints;
}

/** Runs all axe rules, or the given rules, on a page. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  // Landmarks are the responsibility of the page, not of the elements.
  const asked = rules ? { runOnly: rules } : { rules: { region: { enabled: false } } };
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ ...asked, preload: false, resultTypes: ['violations'] })})`,
  )) as { violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[] };
  return found.violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
  );
}

/** Elements of the dialog or the notice that overflow the window, or whose text does. */
export const stickingOut = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const found = [];
    const inside = (root) => [...root.querySelectorAll('*')].flatMap((one) => [one, ...(one.shadowRoot ? inside(one.shadowRoot) : [])]);
    for (const host of document.querySelectorAll('svc-update-dialog, svc-update-notice, svc-update-channel, svc-update-settings')) {
      for (const one of inside(host.shadowRoot)) {
        if (one.closest('.hidden, svg') || !one.checkVisibility()) continue;
        const { left, right, width } = one.getBoundingClientRect();
        const scrolls = getComputedStyle(one).overflowX !== 'visible' && !one.matches('dialog, .body, .past');
        if (width > 0 && !one.closest('.cmd code, pre') && (left < -1 || right > innerWidth + 1)) found.push('out: ' + one.outerHTML.slice(0, 80));
        if (!scrolls && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !one.closest('.cmd')) found.push('cut: ' + one.outerHTML.slice(0, 80));
      }
    }
    return found;
  })()`) as Promise<string[]>;
