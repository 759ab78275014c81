import { describe, expect, it } from 'vitest';
import type { ContainerState, FileState } from '../rig/snapshot.ts';
import { judgeOthers } from './containers.ts';
import { judgeUpdated } from './judge.ts';
import type { Look } from './look.ts';
import { after, before, booted, bumped, container, file, repository, withContainers } from './states.ts';

// A judge that cannot find anything wrong would let everything pass: here each fact is found once.

const expected = { version: 'v1.1.0', changed: bumped };
const app = (change: Partial<ContainerState>) => withContainers(after, { 'x-app-1': change });
const worker = (change: Partial<ContainerState>) => withContainers(after, { 'x-worker-1': change });
const db = (change: Partial<ContainerState>) => withContainers(after, { 'x-db-1': change });
const env = (change: Partial<FileState>) => files({ '.env': file('SVC_VERSION=v1.1.0\n', change) });
const files = (changes: Look['files']): Look => ({ ...after, files: { ...after.files, ...changes } });
const tags = (changes: Look['tags']): Look => ({ ...after, tags: { ...after.tags, ...changes } });
const kept = (onDisk: string | null, served: string | null): Look => ({ ...after, kept: { onDisk, served } });
const old = { image: 'sha256:old' };

describe('a good update', () => {
  it('has nothing wrong with it', () => {
    expect(judgeUpdated(before, after, expected)).toEqual([]);
    expect(judgeUpdated(before, after, { ...expected, reference: `${repository}:v1.1.0` })).toEqual([]);
  });

  it.each<[string, Look, ...RegExp[]]>([
    ['the old app answers', { ...after, version: 'v1.0.0' }, /^app answers v1.0.0, not v1.1.0$/],
    ['no app answers', { ...after, version: null }, /^app answers nothing, not v1.1.0$/],
    ['the old worker writes', { ...after, workerVersion: 'v1.0.0' }, /^worker writes v1.0.0, not v1.1.0$/],
    ['no worker writes', { ...after, workerVersion: null }, /^worker writes nothing, not v1.1.0$/],
    ['another text', env({ text: 'x' }), /^files: .*SVC_VERSION=v1.1.0.*, found {".env":{"text":"x"}}$/],
    ['another mode', env({ mode: '600' }), /^files: .*640.*, found {".env":{"mode":"600"}}$/],
    ['another owner', env({ owner: '1:1' }), /^files: .*0:0.*, found {".env":{"owner":"1:1"}}$/],
    ['a link in place of a file', env({ kind: 'link' }), /^files: .*, found {".env":{"kind":"link"}}$/],
    [
      'a file gone',
      { ...after, files: { '.env': file(bumped['.env']) } },
      /^files: .*{"compose.yaml":null}$/,
    ],
    ['a file beside them', files({ '.env.new': file('') }), /^files: expected {".env.new":null}, found/],
    ['the same container', app({ id: 'app-old' }), /^new containers: .*"not app-old".*"app-old"}}$/],
    ['one not started anew', app({ startedAt: '10:00' }), /^new containers: .*"not 10:00".*"10:00"}}$/],
    ['one that has ended', app({ status: 'exited' }), /^new containers: .*"running".*"exited"}}$/],
    [
      'one that is not healthy',
      worker({ health: 'starting' }),
      /^new containers: .*"healthy".*"starting"}}$/,
    ],
    ['one without its check', worker({ health: undefined }), /^new containers: .*{"health":null}}$/],
    ['one that was restarted', worker({ restarts: 1 }), /^new containers: .*{"restarts":1}}$/],
    [
      'another volume',
      app({ volumes: { '/cache': 'x' } }),
      /^anonymous volumes: .*"x"/,
      /^new containers: .*"x"/,
    ],
    ['another db', db({ id: 'x' }), /^other containers: .*, found {"x-db-1":{"id":"x"}}$/],
    ['a db that was restarted', db({ startedAt: '11:00' }), /^other containers: .*{"startedAt":"11:00"}}$/],
    [
      'two images',
      app({ image: 'x' }),
      /^app and worker run 2 images: x, sha256:new$/,
      /^x-app-1 runs x, and /,
    ],
    ['a tag that is not there', app({ reference: 'x:1' }), /^x-app-1 runs sha256:new, and x:1 is not there$/],
    [
      'another tag that moved',
      tags({ [`${repository}:canary`]: 'x' }),
      /^tags: .*, found {".*:canary":"x"}$/,
    ],
    [
      'the old started again',
      booted(after, 'app v1.1.0', 'worker v1.0.0'),
      /^the old version was started after/,
    ],
    ['data gone from the disk', kept(null, null), /^data: .*, found {"onDisk":null,"served":null}$/],
    ['data that the app does not see', kept('kept', null), /^data: .*, found {"served":null}$/],
    [
      'a stray',
      { ...after, strays: ['a_x-app-1 (created)'] },
      /^left over: container a_x-app-1 \(created\)$/,
    ],
    ['a lock', { ...after, leftovers: ['.svc-updater/lock'] }, /^left over: \.svc-updater\/lock$/],
  ])('is not one with %s', (_, found, ...facts) => {
    expect(judgeUpdated(before, found, expected)).toEqual(facts.map((fact) => expect.stringMatching(fact)));
  });

  it.each<[string, Look, ...RegExp[]]>([
    [
      'a replica too many',
      withContainers(after, { 'x-app-2': after.containers['x-app-1'] ?? null }),
      /^names of containers: .*\["x-app-1","x-app-2","x-db-1","x-worker-1"\]$/,
      /^anonymous volumes: .*"x-app-2"/,
      /^new containers: expected {"x-app-2":null}/,
    ],
    [
      'a replica gone',
      withContainers(after, { 'x-worker-1': null }),
      /^names of containers: .*\["x-app-1","x-db-1"\]$/,
      /^anonymous volumes: .*"x-worker-1"/,
      /^new containers: .*{"x-worker-1":null}$/,
    ],
    [
      'the old image',
      withContainers(after, { 'x-app-1': old, 'x-worker-1': old }),
      /^the old image still runs: sha256:old$/,
      /^x-app-1 runs sha256:old, and .*:v1\.1\.0 is sha256:new$/,
      /^x-worker-1 runs sha256:old, and .*:v1\.1\.0 is sha256:new$/,
    ],
  ])('is not one with %s', (_, found, ...facts) => {
    expect(judgeUpdated(before, found, expected)).toEqual(facts.map((fact) => expect.stringMatching(fact)));
  });

  it('runs the image of the reference that was asked for', () => {
    const reference = `${repository}:v1.2.0`;
    expect(judgeUpdated(before, after, { ...expected, reference })).toEqual([
      `x-app-1 runs sha256:new, and ${reference} is not there`,
      `x-worker-1 runs sha256:new, and ${reference} is not there`,
    ]);
  });

  it('runs latest where its reference has no tag', () => {
    const found = app({ reference: repository });
    expect(judgeUpdated(before, found, expected)).toEqual([
      `x-app-1 runs sha256:new, and ${repository}:latest is not there`,
    ]);
    found.tags = { ...found.tags, [`${repository}:latest`]: 'sha256:new' };
    expect(judgeUpdated(before, found, expected)).toEqual([]);
  });

  it('keeps the image of what is only recreated', () => {
    const sidecar = container('sidecar', { image: 'sha256:tunnel' });
    const was = withContainers(before, { 'x-sidecar-1': sidecar });
    const now = (image: string) =>
      withContainers(after, { 'x-sidecar-1': { ...sidecar, id: 'new', startedAt: '11:00', image } });
    const recreated = { ...expected, recreated: ['app', 'worker', 'sidecar'] };
    expect(judgeUpdated(was, now('sha256:tunnel'), recreated)).toEqual([]);
    expect(judgeUpdated(was, now('sha256:x'), recreated)).toEqual([
      'the image of x-sidecar-1: expected "sha256:tunnel", found "sha256:x"',
    ]);
  });

  it('leaves a stopped worker stopped', () => {
    const stopped = { status: 'exited', health: 'unhealthy' };
    const was = { ...withContainers(before, { 'x-worker-1': stopped }), workerVersion: null };
    const now = (status: string) => ({ ...worker({ status, health: undefined }), workerVersion: null });
    expect(judgeUpdated(was, now('created'), expected)).toEqual([]);
    expect(judgeUpdated(was, now('exited'), expected)).toEqual([]);
    expect(judgeUpdated(was, now('running'), expected)).toEqual([
      'new containers: expected {"x-worker-1":{"status":"exited"}}, found {"x-worker-1":{"status":"running"}}',
    ]);
  });

  it('is not blamed for a restart of the engine, but for everything else', () => {
    const restarted = { 'x-db-1': { startedAt: '11:00', restarts: 1 }, 'x-app-1': { restarts: 1 } };
    const found = booted(withContainers(after, restarted), 'app v1.1.0', 'worker v1.0.0', 'worker v1.1.0');
    expect(judgeUpdated(before, found, expected)).toHaveLength(3);
    expect(judgeUpdated(before, found, expected, { restarted: true })).toEqual([]);
    const oldApp = booted(found, 'app v1.1.0', 'app v1.0.0');
    expect(judgeUpdated(before, oldApp, expected, { restarted: true })).toEqual([
      'the old version was started after the new one: app v1.1.0, app v1.0.0',
    ]);
    const others = [before.containers, db({ id: 'x' }).containers, ['app', 'worker']] as const;
    expect(judgeOthers(...others, { restarted: true })).toEqual([
      'other containers: expected {"x-db-1":{"id":"db-old"}}, found {"x-db-1":{"id":"x"}}',
    ]);
  });

  it('is told of a test that expects what was there already', () => {
    expect(() => judgeUpdated(after, after, expected)).toThrow('the test says that .env changes');
  });
});
