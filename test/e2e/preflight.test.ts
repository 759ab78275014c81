import { execa } from 'execa';
import { describe, expect, type TestContext, test, vi } from 'vitest';
import { layer } from '../rig/image.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone } from './support/instance.ts';
import { expectRestored, ownData } from './support/own-data.ts';

// docs/contract.md 2.27: the ready and preflight commands of a release.

const script = (kind: 'ready' | 'preflight', lines: string): ReleaseOptions => ({
  labels: { [`svc.${kind}`]: JSON.stringify(['sh', '-c', lines]) },
});

/** An instance of v1.0.0, with this release published as v1.1.0. */
async function createBeside(
  { onTestFinished }: TestContext,
  release: ReleaseOptions,
  options: InstanceOptions = alone,
) {
  const instance = await createInstanceFor(onTestFinished, { ...options, publish: [] });
  await instance.publish('v1.1.0', release);
  return instance;
}

const toNext = ['--target', 'v1.1.0'];

describe.concurrent('the ready command', () => {
  test('runs in a new app container, and again in an update that changes nothing', async (context) => {
    const lines = 'cat /etc/svc-version >>/data/ready; ! cat /data/refusal';
    const instance = await createBeside(context, script('ready', lines));
    const updated = await instance.update(toNext);
    expect(updated.exitCode, updated.log).toBe(0);
    expect(updated.log).toMatch(/verify running the ready command in \S+-app-1\n/);
    expect(await instance.read('data/ready')).toBe('v1.1.0\n');

    await instance.write('data/refusal', 'there is no index\n');
    const unchanged = await instance.update(toNext);
    expect(unchanged.exitCode, unchanged.log).toBe(5);
    expect(unchanged.log).toMatch(
      /verify the ready command in \S+-app-1 failed with exit code 1: there is no index\n/,
    );
    expect(unchanged.log).toContain('done broken (unhealthy): nothing was changed;');
    expect(await instance.read('data/ready')).toBe('v1.1.0\nv1.1.0\n');
  });

  test('causes the outcome broken if it fails, and secrets in its output are masked', async (context) => {
    const lines = 'echo "first line"; echo "no login with $DB_PASSWORD" >&2; exit 3';
    const instance = await createBeside(context, script('ready', lines));
    const { exitCode, log } = await instance.update(toNext);
    expect(exitCode, log).toBe(5);
    expect(log).toContain('verify first line\n');
    expect(log).toMatch(/verify the ready command in \S+ failed with exit code 3: no login with \*\*\*\n/);
    expect(log).toContain('done broken (broken): ');
    expect(log).not.toContain('correct horse');
    expect(await instance.version()).toBe('v1.1.0');
  });

  test('causes a rollback to the restore point if it fails', async (context) => {
    const withData = { layout: ownData, up: ['--no-deps', 'app', 'worker', 'db'] };
    const instance = await createBeside(context, script('ready', 'exit 3'), withData);
    await instance.write('data/note', 'of v1.0.0\n');
    const { exitCode, log } = await instance.update([...toNext, '--restore-point']);
    expect(exitCode, log).toBe(4);
    expect(log).toContain('done failed (rolled-back): ');
    await expectRestored(instance, log);
  });

  test('is killed in its container if it hangs', async (context) => {
    const instance = await createBeside(context, { labels: { 'svc.ready': '["sleep","77777"]' } });
    const { exitCode, log } = await instance.update([...toNext, '--wait-timeout', '10']);
    expect(exitCode, log).toBe(5);
    expect(log).toMatch(/verify the ready command in \S+ did not finish within 10 s\n/);
    const { stdout } = await execa('docker', ['top', `${instance.project}-app-1`]);
    expect(stdout).toContain('entry.sh');
    expect(stdout).not.toContain('77777');
  });

  test('is reported as possibly still running if it hangs and the image has no timeout program', async (context) => {
    const without = layer([{ name: 'bin/.wh.timeout', kind: 'file', content: '' }]);
    const instance = await createBeside(context, {
      labels: { 'svc.ready': '["sleep","77777"]' },
      layers: [without],
    });
    const { exitCode, log } = await instance.update([...toNext, '--wait-timeout', '10']);
    expect(exitCode, log).toBe(5);
    expect(log).toContain(' did not finish within 10 s and may still be running, because ');
  });

  test('is ignored if it comes from the base image of another product', async (context) => {
    const instance = await createBeside(context, { ...script('ready', 'exit 3'), versionLabel: '9.9.9' });
    const { exitCode, log } = await instance.update(toNext);
    expect(exitCode, log).toBe(0);
    expect(log).not.toContain('ready command');
  });

  test('is run again if another process restarts the app', async (context) => {
    const lines = 'echo begun >>/data/ready; until [ -e /data/go ]; do sleep 0.1; done';
    const instance = await createBeside(context, script('ready', lines));
    const run = instance.startUpdate(toNext);
    const begun = () => instance.read('data/ready').catch(() => '');
    await vi.waitUntil(async () => (await begun()) === 'begun\n', { timeout: 120_000 });
    await execa('docker', ['restart', `${instance.project}-app-1`]);
    await instance.write('data/go', '');
    const { exitCode, log } = await run.done;
    expect(exitCode, log).toBe(0);
    expect(log).toContain('done updated v1.0.0 → v1.1.0 ');
    expect(await begun()).toMatch(/^(begun\n){2,}$/);
  });
});

describe.concurrent('the preflight command', () => {
  // The last line may have no line break.
  const result = (level: string, check: string, message: string, advice?: string) =>
    `printf '\\n%s' '${JSON.stringify({ level, check, message, advice })}'`;

  test('prevents the update before anything changes if a check fails', async (context) => {
    const lines = [
      result('pass', 'disk', 'enough'),
      result('fail', 'database', 'version 12', 'Upgrade to PostgreSQL 14.'),
      result('fail', 'queue', 'is not empty'),
    ];
    const instance = await createBeside(context, script('preflight', lines.join(';')));
    const before = [await instance.containers(), await instance.read('.env'), await instance.boots()];
    const { exitCode, log } = await instance.update(toNext);
    expect(exitCode, log).toBe(3);
    expect(log).toMatch(
      /INFO {2}pull pass {2}disk {6}enough\n.* ERROR pull fail {2}database {2}version 12\n/,
    );
    expect(log).toMatch(
      /queue: is not empty\n.* database: version 12\n.* done refused \(preflight-failed\): nothing was changed; v1\.0\.0 is still running\. Next: Upgrade to PostgreSQL 14\.\n/,
    );
    const after = [await instance.containers(), await instance.read('.env'), await instance.boots()];
    expect(after).toEqual(before);
  });

  test('can read the data of the app but not change it, and its warnings do not prevent the update', async (context) => {
    const check = String.raw`echo written >/data/written || true
printf '{"level":"warn","check":"reach","message":"%s, %s, %s"}\n' "$(wget -qO- http://app:8080/version)" "$(cat /data/kept.txt)" "$DB_PASSWORD"`;
    const instance = await createBeside(context, script('preflight', check));
    const boots = await instance.boots();
    const unpulled = await instance.update(['plan', ...toNext]);
    expect(unpulled.exitCode, unpulled.log).toBe(0);
    const fetched = await instance.update(['fetch', ...toNext]);
    expect(fetched.exitCode, fetched.log).toBe(0);
    expect(unpulled.log + fetched.log).not.toContain('preflight');

    const row = 'warn  reach  v1.0.0, Written before the update; must be there after it., ***\n';
    const planned = await instance.update(['plan', ...toNext]);
    expect(planned.exitCode, planned.log).toBe(0);
    expect(planned.log).toContain(`WARN  plan ${row}`);
    const updated = await instance.update(toNext);
    expect(updated.exitCode, updated.log).toBe(0);
    expect(updated.log).toContain(`WARN  pull ${row}`);
    expect((await instance.boots()).filter((boot) => boot.startsWith('app'))).toEqual([
      ...boots.filter((boot) => boot.startsWith('app')),
      'app v1.1.0',
    ]);
    await expect(instance.read('data/written')).rejects.toThrow('ENOENT');
    expect((await instance.update(toNext)).log).not.toContain('preflight');
  });

  test('prevents the update if it cannot be run', async (context) => {
    const instance = await createBeside(context, { labels: { 'svc.preflight': '["/no/such/program"]' } });
    const { exitCode, log } = await instance.update(toNext);
    expect(exitCode, log).toBe(3);
    expect(log).toContain('/no/such/program');
    expect(await instance.version()).toBe('v1.0.0');
  });
});
