import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Context, Hono } from 'hono';
import type { InstanceUpdates } from 'svc-updater/instance';
import { BuildServers } from './build-servers.ts';
import type { Database } from './database.ts';
import { Items } from './items.ts';
import { Jobs, kinds } from './jobs.ts';
import { buildServersPage } from './pages/build-servers.ts';
import { dataPage } from './pages/data.ts';
import { jobsPage } from './pages/jobs.ts';
import { type Html, layout, type View } from './pages/layout.ts';
import { loginPage } from './pages/login.ts';
import { settingsPage } from './pages/settings.ts';
import { type Person, people, Sessions, sameSecret } from './sessions.ts';
import type { Settings } from './settings.ts';

type Env = { Variables: { person: Person } };

/** Allows only svc's own files, and no markup from text. The update elements work with this policy. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const assets: Record<string, string> = {
  'style.css': 'text/css',
  'page.js': 'text/javascript',
  'svc-updater.mjs': 'text/javascript',
};

export function routes(settings: Settings, db: Database, updates: InstanceUpdates): Hono<Env> {
  const app = new Hono<Env>();
  const { version } = settings;
  const sessions = new Sessions(db, settings.apiToken);
  const jobs = new Jobs(db);
  const items = new Items(db, version);
  const buildServers = new BuildServers(db);

  // The path of the elements; the library checks permissions itself.
  app.all('/api/v1/instance/update/*', (c) => updates.handle(c.req.raw));
  app.get('/healthz', (c) => c.text(`${version}\n`));
  app.get('/assets/:name', async (c) => {
    const name = c.req.param('name');
    const type = assets[name];
    if (type === undefined) return c.notFound();
    const text = await readFile(join(settings.assets, name), 'utf8');
    // The next release has different files at the same addresses.
    return c.body(text, 200, { 'content-type': type, 'cache-control': 'no-cache' });
  });
  app.post('/api/v1/build-servers', async (c) => {
    const { agentToken } = settings;
    const given = /^Bearer (\S+)$/.exec(c.req.header('authorization') ?? '')?.[1];
    if (agentToken === null || given === undefined || !sameSecret(given, agentToken))
      return c.body(null, 401);
    const body = await c.req.json<Record<string, unknown>>();
    await buildServers.seen(String(body.name), String(body.version));
    return c.body(null, 204);
  });

  app.use(async (c, next) => {
    await next();
    c.header('content-security-policy', policy);
    c.header('x-content-type-options', 'nosniff');
    c.header('cache-control', 'no-store');
  });
  app.post('*', async (c, next) =>
    isSameOrigin(c) ? next() : c.text('This request came from a different site.\n', 403),
  );
  app.get('/login', (c) => c.html(loginPage(version)));
  app.post('/login', async (c) => {
    if (settings.hasBrokenLogin) return c.text('The login is broken in this release.\n', 500);
    const person = people[await field(c, 'who')];
    if (person === undefined) return c.redirect('/login', 303);
    c.header('set-cookie', await sessions.begin(person));
    return c.redirect('/jobs', 303);
  });
  // All following routes require a login.
  app.use(async (c, next) => {
    const person = await sessions.of(c.req.raw.headers);
    if (person === null)
      return c.req.path.startsWith('/api/') ? c.body(null, 401) : c.redirect('/login', 303);
    c.set('person', person);
    return next();
  });
  app.get('/', (c) => c.redirect('/jobs', 303));
  app.post('/logout', async (c) => {
    c.header('set-cookie', await sessions.end(c.req.raw.headers));
    return c.redirect('/login', 303);
  });

  const show = (c: Context<Env>, view: View, content: Html) => {
    return c.html(layout({ view, version, person: c.get('person'), content }));
  };
  app.get('/jobs', (c) => show(c, 'Jobs', jobsPage()));
  app.get('/api/v1/jobs', async (c) =>
    c.json({ held: await jobs.isHeld(), now: new Date(), jobs: await jobs.list() }),
  );
  app.post('/jobs', async (c) => {
    const [start, end] = [await field(c, 'start'), await field(c, 'end')];
    if (Object.hasOwn(kinds, start)) await jobs.add(start as keyof typeof kinds);
    if (/^\d+$/.test(end)) await jobs.end(end);
    return c.redirect('/jobs', 303);
  });
  app.get('/data', async (c) => show(c, 'Data', dataPage(await items.list(), items.showsAuthor)));
  app.post('/data', async (c) => {
    const name = (await field(c, 'name')).trim().slice(0, 80);
    if (name !== '') await items.add(name, c.get('person').name);
    return c.redirect('/data', 303);
  });
  app.get('/build-servers', async (c) =>
    show(c, 'Build servers', buildServersPage(await buildServers.list(), version)),
  );
  app.get('/settings', (c) => show(c, 'Settings', settingsPage(c.get('person'))));
  return app;
}

async function field(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody())[name];
  return typeof value === 'string' ? value : '';
}

/** Protects against cross-site requests: the form must be on one of our own pages. */
function isSameOrigin(c: Context): boolean {
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  return URL.parse(c.req.header('origin') ?? '')?.host === c.req.header('host');
}
