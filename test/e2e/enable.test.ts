// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, it, onTestFinished } from 'vitest';
import {
  type Feed,
  type PythonPlatform,
  startFeed,
  startPythonPlatform,
} from '../platform/rig/python-platform.ts';
import { jellyfin } from '../products/others.ts';
import { runProducts } from '../products/run-products.ts';

const long = { timeout: 180_000, interval: 250 };
const update = '/api/v1/instance/update';

/** A compose file as a user has written it before the product could be updated from its page. */
const composeOf = (tag: string) => `# My larder
services:
  pantry: # the app
    image: \${LARDER_IMAGE:?}:${tag}
    ports: ['127.0.0.1:\${LARDER_PORT:-8080}:8080']
    volumes: ['data:/data']
    healthcheck:
      test: [CMD, wget, -qO-, 'http://127.0.0.1:8080/state']
      interval: 2s
volumes:
  data: # all supplies
`;

async function startFromLatest(feed: Feed): Promise<PythonPlatform> {
  const { registry } = inject('host');
  const platform = await startPythonPlatform(inject('host'), {
    feed,
    registry,
    publish: ['v1.1.0'],
    compose: composeOf('v1.0.0'),
  });
  onTestFinished(() => platform.dispose());
  const [old, latest] = [`${platform.image}:v1.0.0`, `${platform.image}:latest`];
  await execa('docker', ['tag', old, latest]);
  await execa('docker', ['push', '--quiet', latest]);
  await writeFile(join(platform.directory, 'compose.yaml'), composeOf('latest'));
  const env = (await platform.read('.env')).replace(/UPDATES_\w+=.*\n/g, '');
  await writeFile(join(platform.directory, '.env'), env);
  await platform.compose('up', '-d');
  await platform.waitUntilHealthy();
  return platform;
}

it('adds the button to the compose file of a user, who then updates with it and removes it', async () => {
  const feed = await startFeed({});
  onTestFinished(() => feed.close());
  const assets = ['release.json', 'release.json.sigstore.json'];
  const releases = ['v1.1.0'].map((version) => ({
    version,
    assets: assets.map((name) => ({ name, url: `${version}/${name}` })),
  }));
  feed.files['releases.json'] = JSON.stringify({ releases });
  const platform = await startFromLatest(feed);
  const record = { name: 'larder', services: ['app', 'updates'], updatesImage: `${platform.image}-updates` };
  const env = { SVC_UPDATER_PRODUCT: JSON.stringify(record) };
  const run = async (...args: string[]) => {
    const { exitCode, log, lines } = await platform.update(args, { env });
    expect(exitCode, log).toBe(0);
    return { log, last: lines.at(-1)?.message ?? '' };
  };
  const enable = (...args: string[]) => run('enable', '--service', 'pantry', ...args);
  const hashOf = ({ last }: { last: string }) => /--yes (\w{12})$/.exec(last)?.[1] ?? last;
  const files = () => Promise.all(['compose.yaml', '.env'].map((name) => platform.read(name)));
  const [compose, oldEnv] = await files();
  const modeOf = async (name: string) => (await stat(join(platform.directory, name))).mode;
  const mode = await modeOf('.env');

  const dry = await enable();
  expect(dry.log).toContain("gives updates root access to this machine through the engine's socket");
  expect(await files()).toEqual([compose, oldEnv]);
  // Someone edits the file between the dry run and the change.
  await writeFile(join(platform.directory, 'compose.yaml'), `${compose}# edited\n`);
  const late = await platform.update(['enable', '--service', 'pantry', '--yes', hashOf(dry)], { env });
  expect(late.log).toMatch(/done failed \(file-changed\): nothing was changed/);
  await writeFile(join(platform.directory, 'compose.yaml'), compose ?? '');

  const done = await enable('--yes', hashOf(dry));
  const secret = /^UPDATES_SECRET=([0-9a-f]{64})$/m.exec(await platform.read('.env'))?.[1] ?? 'none';
  expect(`${dry.log}${done.log}`).not.toContain(secret);
  // The compose file never requires a secret that is not in the env file.
  expect(done.log).toContain('changed .env, compose.yaml and .svc-updater.yaml');
  expect(done.last).toContain('up -d pantry updates (it restarts pantry,');
  await platform.compose('up', '-d', 'pantry', 'updates');
  await platform.waitUntilHealthy();
  expect((await enable()).last).toBe('unchanged: the service updates is running; nothing to do');
  expect((await run('plan', '--target', 'v1.1.0')).last).toContain('planned: nothing was changed');

  const login = await fetch(`${platform.url}/login?name=anna`, { redirect: 'manual' });
  const [cookie = ''] = login.headers.getSetCookie()[0]?.split(';') ?? [];
  // biome-ignore lint/suspicious/noExplicitAny: as the platform says it
  const ask = async (init: RequestInit = {}): Promise<any> => {
    const headers = { cookie, origin: platform.url, 'content-type': 'application/json' };
    return (await fetch(`${platform.url}${update}?refresh=1`, { headers, ...init })).json().catch(() => null);
  };
  await expect.poll(async () => (await ask())?.next, long).toMatchObject({ version: 'v1.1.0' });
  expect(await ask({ method: 'POST', body: '{"target":"v1.1.0"}' })).toMatchObject({ by: 'anna' });
  const outcome = async () => (await ask())?.run;
  await expect.poll(async () => (await outcome())?.outcome, long).toBeTruthy();
  expect(await outcome()).toMatchObject({ outcome: 'updated', to: 'v1.1.0', by: 'anna', cause: null });
  expect((await run('rollback', '--yes')).last).toContain('updated v1.1.0 → v1.0.0');

  const undo = await enable('--undo');
  const undone = await enable('--undo', '--yes', hashOf(undo));
  expect(undone.log).toContain('changed compose.yaml, .env and .svc-updater.yaml');
  await platform.compose('up', '-d', 'pantry');
  expect(await files()).toEqual([composeOf('v1.0.0'), oldEnv]);
  expect(await modeOf('.env')).toBe(mode);
  await execa('docker', ['rm', '--force', `${platform.project}-updates-1`]);
  expect((await enable('--undo')).last).toBe('unchanged: the service updates is not in the files');
});

it('adds the button to the published compose file of Jellyfin', async () => {
  const lines: string[] = [];
  const rows = await runProducts([[jellyfin, jellyfin.forms[0]]], inject('host'), {
    lanes: 1,
    directory: join(inject('host').directory, 'products'),
    trials: ['enable'],
    say: (line) => lines.push(line),
  });
  expect(
    rows.flatMap(({ facts }) => Object.values(facts).flat()),
    lines.join('\n'),
  ).toEqual([]);
});
