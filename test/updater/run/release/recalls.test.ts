import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { inspectAndPlan } from '../../../../src/updater/compose/begin-update.ts';
import { preparePlan } from '../../../../src/updater/compose/prepare/prepare-plan.ts';
import { createProjectRunState } from '../../../../src/updater/compose/recovery/project-run-state.ts';
import { readRecalls } from '../../../../src/updater/run/release/recalls.ts';
import { requireSupportedStackOptions } from '../../../../src/updater/swarm/plan/inspect-stack.ts';
import { planServiceUpdates } from '../../../../src/updater/swarm/plan/plan-service-updates.ts';
import { planStackUpdate } from '../../../../src/updater/swarm/plan/plan-stack.ts';
import { foundInstance } from '../../../build.ts';
import {
  composeText,
  engineWith,
  imageOf,
  installed,
  planTo,
  runContext,
  updateOptions,
} from '../../../build-plan.ts';
import { serviceWith, specWith } from '../../../build-stack.ts';
import { publisher } from '../../../provenance/sign.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

const channel = {
  ...{ format: 1, product: 'svc', channel: 'stable' },
  ...{ issuedAt: '2026-11-20T08:00:00Z', expires: '2027-02-18T08:00:00Z' },
  ...{ urgent: null, rollout: null },
  recalled: [{ version: 'v1.4.0', why: 'It deletes uploads.', url: 'https://svc.test/v1.4.0' }],
};
const message = 'v1.4.0 has been recalled by its publisher: It deletes uploads (https://svc.test/v1.4.0)';
const now = Date.parse('2026-11-27T08:00:00Z');
const anna = publisher();
let folder: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
  await writeFile(join(folder, 'key.pem'), anna.key);
});

const at = (name: string) => join(folder, name);
const trusting = () => ['--trust', at('key.pem')];

/** The options for a channel file with this content, signed by this publisher; unsigned for null. */
async function given(change: object = {}, by: typeof anna | null = null): Promise<string[]> {
  const file = JSON.stringify({ ...channel, ...change });
  await writeFile(at('channel.json'), file);
  if (by !== null) await writeFile(at('channel.json.sigstore.json'), by.sign(Buffer.from(file)));
  return ['--channel-file', at('channel.json')];
}

async function contextWith(args: readonly string[]) {
  const { context, lines } = runContext(await engineWith({}), updateOptions(...args));
  return { context: { ...context, startedAt: now }, lines };
}

describe('the recalls of a channel file', () => {
  it('are null if no channel file is specified', async () => {
    const { context } = await contextWith(['--target', 'v1.4.0']);
    expect(await readRecalls(context)).toBeNull();
  });

  it.each(['v1.4.0', '1.4.0'])('reject the recalled target %s', async (target) => {
    const { context, lines } = await contextWith([...(await given()), '--target', target]);
    await expect(readRecalls(context)).rejects.toMatchObject({ code: 'recalled', message });
    expect(lines).toEqual([]);
  });

  it('cause only a warning with --accept-recalled', async () => {
    const args = [...(await given()), '--target', 'v1.4.0', '--accept-recalled'];
    const { context, lines } = await contextWith(args);
    expect(await readRecalls(context)).toMatchObject({ accepted: true });
    expect(lines).toEqual([`warn: ${message}`]);
  });

  it.each([['v1.4.1'], ['1.4'], ['stable'], [null]])('accept the target %s', async (target) => {
    const args = [
      ...(await given({}, anna)),
      ...trusting(),
      ...(target === null ? [] : ['--target', target]),
    ];
    const { context, lines } = await contextWith(args);
    expect(await readRecalls(context)).toEqual({ recalled: channel.recalled, accepted: false });
    expect(lines).toEqual([]);
  });

  it('are still used after the file has expired, with a warning', async () => {
    const expires = '2026-11-27T08:00:00Z';
    const { context, lines } = await contextWith([...(await given({ expires })), '--target', 'v1.4.0']);
    await expect(readRecalls(context)).rejects.toMatchObject({ code: 'recalled' });
    expect(lines).toEqual([
      `warn: ${at('channel.json')} expired at ${expires}, so newer recalls may be missing; get the current channel file from the publisher`,
    ]);
  });

  it.each<[string, Parameters<typeof given>, string[], string]>([
    ['an unsigned file despite --trust', [], [], 'channel.json.sigstore.json cannot be read (ENOENT)'],
    ['another signer', [{}, publisher()], [], 'it is not signed with a trusted key'],
    ['another product', [{ product: 'acme' }, anna], [], 'it is a channel file of acme, not of svc'],
    [
      'another channel',
      [{ channel: 'canary' }, anna],
      ['--target', 'v1.5.0'],
      'this is the channel file of the canary channel, but the target is on the stable channel',
    ],
    [
      'the stable channel for a canary',
      [{}, anna],
      ['--target', 'canary'],
      'this is the channel file of the stable channel, but the target is on the canary channel',
    ],
  ])('are rejected for %s', async (_, file, args, why) => {
    const { context } = await contextWith([...(await given(...file)), ...trusting(), ...args]);
    await expect(readRecalls(context)).rejects.toMatchObject({
      code: 'not-proven',
      message: expect.stringContaining(why),
    });
  });

  it('are rejected for an unsigned file of another product without --trust', async () => {
    const { context } = await contextWith(await given({ product: 'acme' }));
    await expect(readRecalls(context)).rejects.toMatchObject({ code: 'not-proven' });
  });
});

describe('an update to a recalled release', () => {
  it('of a compose project is rejected before the project is read', async () => {
    const { context } = await contextWith([...(await given({}, anna)), ...trusting(), '--target', 'v1.4.0']);
    const cachedEngine = context.engine.cached();
    const before = { containers: [], leftovers: [], cachedEngine, earlier: null };
    const planned = inspectAndPlan(context, foundInstance(), createProjectRunState(), before);
    await expect(planned).rejects.toMatchObject({ code: 'recalled', message });
  });

  it('of a stack is rejected before a registry is queried', async () => {
    const args = [...(await given({}, anna)), ...trusting(), '--target', 'v1.4.0'];
    const { context } = await contextWith(args);
    requireSupportedStackOptions(context);
    const app = serviceWith(specWith({ image: 'acme/svc:v1.3.0' }));
    const chosen = { name: 'svc', app, workers: [], services: [app] };
    const { target, product } = context.options;
    const plan = planServiceUpdates(chosen, [], { target, product });
    const found = { context, chosen, tasks: [], nodes: [], directory: null };
    await expect(planStackUpdate(found, null, { plan, inherits: 'nothing' })).rejects.toMatchObject({
      message,
    });
  });

  it.each([
    ['is refused after the pull', 'acme/svc:stable', '1.4.0', false, 'recalled'],
    ['is accepted with --accept-recalled', 'acme/svc:stable', '1.4.0', true, null],
    ['is not one if its release is not recalled', 'acme/svc:stable', '1.4.1', false, null],
  ])('that a floating tag points to %s', async (_, image, version, accepted, code) => {
    const from = installed({ 'compose.yaml': composeText({ app: image }) });
    const plan = { ...planTo(null, from), recalls: { recalled: channel.recalled, accepted } };
    const { context } = await contextWith([]);
    const prepared = preparePlan(context.engine, plan, {
      images: new Map([[image, imageOf('new', version)]]),
      skipLag: true,
      backup: 'backup',
      early: Promise.resolve(null),
      log: context.log,
    });
    if (code !== null) await expect(prepared).rejects.toMatchObject({ code, message });
    else expect((await prepared).laterWarnings).toEqual(accepted ? [message] : []);
  });
});

it('an update of a stack rejects a trust file for a release', async () => {
  const { context } = await contextWith(['--release', folder, ...trusting()]);
  expect(() => requireSupportedStackOptions(context)).toThrow('stack images cannot be verified');
});
