import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Script } from '../../../src/instance/testing/index.ts';
import { type PageServer, servePage } from './page-server.ts';

/** Debian's, without a window: it takes half the time of the other one. Another is named by the environment. */
const program = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';
const withoutNetlink = fileURLToPath(new URL('./without-netlink', import.meta.url));

/** A browser; to start one is dear, so a test file has one. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: withoutNetlink,
    env: { ...process.env, PROGRAM: program },
    // Root has no sandbox in a container.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });

export interface Visit {
  page: Page;
  context: BrowserContext;
  server: PageServer;
  /** What the page has complained of: errors, and what its policy forbids. */
  complaints: string[];
}

export interface VisitOptions extends BrowserContextOptions {
  attributes?: string;
  body?: string;
  /** Of the address. Default `localhost`. */
  host?: string;
  /** Before the page is opened. */
  prepare?(page: Page): Promise<unknown>;
}

/** Opens a page with the elements, played from a script; closed when the visit is over. */
export async function visit(
  browser: Browser,
  script: Script,
  options: VisitOptions,
  look: (visit: Visit) => Promise<void>,
): Promise<void> {
  const { attributes, body, host = 'localhost', prepare, ...contextOptions } = options;
  const server = await servePage(script);
  if (attributes !== undefined) server.attributes = attributes;
  if (body !== undefined) server.body = body;
  const context = await browser.newContext({ viewport: { width: 768, height: 720 }, ...contextOptions });
  try {
    // The machine may have more to do than this.
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
    // What a page asks for in vain is told by the browser itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return complaints;
}

/** What axe finds on a page, of all of its rules or of some. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  // The rule about landmarks is the page's, not the elements'.
  const asked = rules ? { runOnly: rules } : { rules: { region: { enabled: false } } };
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ ...asked, preload: false, resultTypes: ['violations'] })})`,
  )) as { violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[] };
  return found.violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
  );
}

/** Elements of the dialog or the notice that stick out of the window, or whose text does. */
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
