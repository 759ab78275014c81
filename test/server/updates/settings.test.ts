import { describe, expect, it } from 'vitest';
import { settingValuesPath } from '../../../src/core/release/release-settings.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import type { CompleteUpdateRequest } from '../../../src/server/contract/instance-updates.ts';
import { attach, releaseFile } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { goodRun } from '../../rig/engine-double/script.ts';
import { forge, freshForges, freshRigs, rig, type Server, until } from './rig.ts';

const anna = publisher();
const always = { enabled: true, from: '00:00', to: '00:00', minAgeHours: 0 };
const password = 'correct horse "battery"';
const settings = [
  { name: 'SMTP_HOST', description: 'Mail server', required: true },
  { name: 'SMTP_PASSWORD', description: 'Its password', required: true, secret: true },
  { name: 'SMTP_PORT', description: 'Its port', required: true, default: '25' },
  { name: 'TOKEN', description: 'Internal', required: true, generate: 'hex32', secret: true },
];
const missing = (names: string, version = 'v1.5.0') => ({
  reason: { code: 'settings-missing', message: `${version} needs a value for ${names}` },
});

freshForges();
freshRigs();

async function booted(env: string[] = [], more: Partial<InstanceOptions> = {}): Promise<Server> {
  forge.publish(attach(forge, anna, releaseFile('v1.5.0', { settings })));
  const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
  const one = await rig.booted({ env }, { feed, ...more });
  await until(async () => (await one.updates.status()).checkedAt !== null);
  return one;
}
const given: CompleteUpdateRequest['settings'] = { SMTP_HOST: 'mail', SMTP_PASSWORD: password };
const run = async ({ updates }: Server) => (await updates.findRunRecord())?.run;
const updater = () => rig.updaters[0];

describe('new settings of a release', () => {
  it('are listed in the status, each with whether the app has a value', async () => {
    const one = await booted(['SMTP_HOST=mail', 'SMTP_PASSWORD=']);
    const asked = { required: true, secret: false, default: null, generated: false, isSet: false };
    expect((await one.updates.status()).next?.settings).toEqual([
      { ...asked, name: 'SMTP_HOST', description: 'Mail server', isSet: true },
      { ...asked, name: 'SMTP_PASSWORD', description: 'Its password', secret: true },
      { ...asked, name: 'SMTP_PORT', description: 'Its port', default: '25' },
      { ...asked, name: 'TOKEN', description: 'Internal', secret: true, generated: true },
    ]);
  });

  it('are read from the app if the library runs in another service', async () => {
    await rig.engine.addServer({ name: 'svc-app-9', env: ['SMTP_HOST=mail'] });
    const labels = { 'com.docker.compose.service': 'worker' };
    const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
    forge.publish(attach(forge, anna, releaseFile('v1.5.0', { settings })));
    const place = { name: 'svc-worker-1', labels, env: ['SMTP_PASSWORD=other'] };
    const one = await rig.booted(place, { feed, app: 'app' });
    await until(async () => (await one.updates.status()).checkedAt !== null);
    expect(await one.ask()).toEqual(missing('SMTP_PASSWORD'));
  });

  it('are passed to the updater in a file, and appear nowhere else', async () => {
    const one = await booted();
    expect(await one.ask({ settings: given })).toMatchObject({ run: { to: 'v1.5.0' } });
    await until(async () => (await run(one))?.outcome);
    expect(updater()?.spec.Cmd).toEqual(expect.arrayContaining(['--set-file', settingValuesPath]));
    const [file, ...others] = updater()?.archives ?? [];
    expect([file?.folder, file?.status, others]).toEqual(['/', 'created', []]);
    const text = Object.entries(given ?? {})
      .map(([name, value]) => `${name}='${value}'\n`)
      .join('');
    expect(file?.body.slice(0, 28)).toBe('run/svc-updater-settings.env');
    // Mode, user and group.
    expect(file?.body.slice(100, 124)).toBe('0000600\u00000000000\u00000000000\u0000');
    expect(file?.body.slice(512)).toBe(text.padEnd(3 * 512, '\u0000'));
    const elsewhere = [updater()?.spec, await one.updates.status(), await one.updates.history()];
    const kept = JSON.stringify([elsewhere, rig.state.calls, [...rig.state.store], one.host.logged]);
    expect(kept).not.toContain('correct horse');
  });

  it('are passed to the updater of a rehearsal in a file, and appear nowhere else', async () => {
    rig.engine.updaterDoes([{ exit: 0 }]);
    const one = await booted();
    const order = { target: null, by: 'anna' };
    expect(await one.updates.rehearse(order)).toEqual(missing('SMTP_HOST, SMTP_PASSWORD'));
    const settings = given ?? {};
    expect(await one.updates.rehearse({ ...order, settings })).toHaveProperty('rehearsal');
    await until(async () => (await one.updates.status()).rehearsal?.endedAt);
    const found = rig.engine.containers.find(({ name }) => name.startsWith('svc-updater-rehearsal-'));
    expect(found?.spec.Cmd).toEqual(expect.arrayContaining(['rehearse', '--set-file', settingValuesPath]));
    await until(() => found?.archives.length === 2);
    const [file, emptied] = found?.archives ?? [];
    expect([file?.folder, file?.status, emptied?.status]).toEqual(['/', 'created', 'exited']);
    expect(emptied?.body.slice(512).replaceAll('\u0000', '')).toBe('');
    expect(file?.body.slice(100, 108)).toBe('0000600\u0000');
    const kept = JSON.stringify([
      found?.spec,
      await one.updates.status(),
      [...rig.state.store],
      one.host.logged,
    ]);
    expect(kept).not.toContain('correct horse');
  });

  it('need no file if no value is given', async () => {
    const one = await booted(['SMTP_HOST=mail', 'SMTP_PASSWORD=x']);
    await one.ask();
    await until(async () => (await run(one))?.outcome);
    expect(updater()?.spec.Cmd).not.toContain('--set-file');
    expect(updater()?.archives).toEqual([]);
  });

  it('need no file if the given settings are empty', async () => {
    const one = await booted(['SMTP_HOST=mail', 'SMTP_PASSWORD=x']);
    await one.ask({ settings: {} });
    await until(async () => (await run(one))?.outcome);
    expect(updater()?.spec.Cmd).not.toContain('--set-file');
  });

  it.each<[string, Partial<CompleteUpdateRequest>, names: string]>([
    ['none is given', {}, 'SMTP_HOST, SMTP_PASSWORD'],
    ['one is given', { settings: { SMTP_HOST: 'mail' }, allSteps: true }, 'SMTP_PASSWORD'],
    ['jobs are interrupted', { settings: { SMTP_PASSWORD: 'x' }, force: true }, 'SMTP_HOST'],
  ])('prevent an update if %s', async (_, order, names) => {
    const one = await booted();
    expect(await one.ask(order)).toEqual(missing(names));
    expect([rig.updaters, rig.open, rig.state.isHeld]).toEqual([[], null, false]);
  });

  it('are the only settings that a request can set', async () => {
    const one = await booted();
    for (const order of [{ settings: { ...given, PATH: 'x' } }, { settings: { constructor: 'x' } }])
      await expect(one.ask(order)).rejects.toThrow(
        'The new settings of v1.5.0 are: SMTP_HOST, SMTP_PASSWORD, SMTP_PORT, TOKEN.',
      );
    expect([rig.updaters, rig.open, rig.state.isHeld]).toEqual([[], null, false]);
  });

  it('prevent an automatic update', async () => {
    const one = await booted([], { automatic: always });
    const { blockedBy } = (await one.updates.status()).automatic ?? {};
    expect(blockedBy).toEqual(missing('SMTP_HOST, SMTP_PASSWORD').reason);
    const looks = () => one.host.calls('get').filter(({ args }) => args[0] === 'automatic').length;
    const before = looks();
    await until(() => looks() > before + 3);
    expect(rig.updaters).toEqual([]);
  });

  it('delay the next step of an upgrade path', async () => {
    const later = releaseFile('v2.0.0', { requires: 'v1.5.0', settings });
    const publish = () =>
      forge.publish(attach(forge, anna, later), attach(forge, anna, releaseFile('v1.5.0')));
    publish();
    const feed = { url: forge.address('static'), trust: { keys: [anna.key] } };
    const one = await rig.booted({}, { feed });
    await until(async () => (await one.updates.status()).next?.upgradePath.length === 2);
    await one.ask({ target: null, allSteps: true });
    await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
    await one.updates.close();
    const two = await rig.booted(one.place, { version: 'v1.5.0', feed });
    const reason = async () => (await two.updates.status()).pendingStep?.reason;
    const { message } = missing('SMTP_HOST, SMTP_PASSWORD', 'v2.0.0').reason;
    await until(async () => (await reason()) === message);
    rig.engine.updaterDoes(goodRun('v1.5.0', 'v2.0.0'));
    // An admin gives the values, which completes the upgrade path.
    expect(await two.ask({ target: 'v2.0.0', settings: given })).toMatchObject({ run: { to: 'v2.0.0' } });
    await until(async () => (await run(two))?.outcome);
    expect((await two.updates.status()).pendingStep).toBeNull();
  });

  it('are lost if the server stops before the updater starts, and nothing is changed', async () => {
    const one = await booted();
    rig.state.jobs.push({ kind: 'backup', state: 'running' });
    expect(await one.ask({ when: 'idle', settings: given })).toMatchObject({ run: { state: 'waiting' } });
    await one.updates.close();
    const two = await rig.booted({ name: 'svc-app-2' });
    await until(async () => (await run(two))?.outcome);
    expect(await run(two)).toMatchObject({
      outcome: 'cancelled',
      message: 'the server was stopped before the updater was started; nothing was changed',
    });
    expect(rig.updaters).toEqual([]);
  });

  const rejection = {
    kind: 'refuse',
    status: 500,
    message: `cannot unpack: SMTP_PASSWORD=${password}`,
  } as const;
  it.each([
    ['the engine rejects', rejection, / PUT \/containers\/\w+\/archive\S* failed with status 500/],
    ['a proxy blocks', { kind: 'page' } as const, /blocks PUT \/containers\/\w+\/archive /],
  ])('start no updater and are not repeated if %s the file', async (_, fault, message) => {
    const one = await booted();
    rig.engine.fault({ match: /^PUT .*\/archive/, ...fault });
    await one.ask({ settings: given });
    await until(async () => (await run(one))?.outcome);
    const ended = await run(one);
    expect([ended?.outcome, ended?.code]).toEqual(['failed', 'launch-failed']);
    expect(ended?.message).toMatch(message);
    expect(rig.updaters).toEqual([]);
    const kept = JSON.stringify([ended, await one.updates.history(), [...rig.state.store], one.host.logged]);
    expect(kept).not.toContain('correct horse');
  });
});
