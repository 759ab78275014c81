import { describe, expect, it } from 'vitest';
import type { ContainerState } from '../rig/snapshot.ts';
import { judgeEachFile, judgeFilesTogether } from './files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched } from './judge.ts';
import type { Look } from './look.ts';
import { after, before, booted, bumped, file, withContainers } from './states.ts';

const matching = (facts: readonly RegExp[]) => facts.map((fact) => expect.stringMatching(fact));

describe('an instance that was not touched', () => {
  it('is as it was, but for an edit of somebody’s own and for what was pulled', () => {
    expect(judgeUntouched(before, before)).toEqual([]);
    expect(judgeUntouched(before, { ...before, files: after.files }, bumped)).toEqual([]);
    expect(judgeUntouched(before, { ...before, tags: after.tags })).toEqual([]);
  });

  it.each<[string, Partial<Look>, RegExp]>([
    ['another app', { version: 'v1.1.0' }, /^app answers v1.1.0, not v1.0.0$/],
    ['another worker', { workerVersion: null }, /^worker writes nothing, not v1.0.0$/],
    ['another file', { files: after.files }, /^files: .*, found {".env":{"text":"SVC_VERSION=v1.1.0/],
    ['a tag that is gone', { tags: {} }, /^tags: .*, found {".*:v1.0.0":null,".*:canary":null}$/],
    ['no data', { kept: { onDisk: null, served: null } }, /^data: .*{"onDisk":null,"served":null}$/],
    ['a start', { boots: [...before.boots, 'app v1.0.0'] }, /^something has been started: app v1.0.0$/],
    ['a stray', { strays: ['x'] }, /^left over: container x$/],
    ['a leftover', { leftovers: ['x'] }, /^left over: x$/],
  ])('has not %s', (_, change, fact) => {
    expect(judgeUntouched(before, { ...before, ...change })).toEqual(matching([fact]));
  });

  it('has not a container that was started again', () => {
    const found = withContainers(before, { 'x-app-1': { startedAt: '11:00' } });
    expect(judgeUntouched(before, found)).toEqual([
      'containers: expected {"x-app-1":{"startedAt":"10:00"}}, found {"x-app-1":{"startedAt":"11:00"}}',
    ]);
  });
});

describe('an instance brought back', () => {
  const again = { id: 'again', startedAt: '11:00', reference: 'sha256:old' };
  const made = withContainers(before, { 'x-app-1': again, 'x-worker-1': again });
  const back = booted(made, 'app v1.0.0', 'worker v1.0.0');
  const app = (change: Partial<ContainerState>) => withContainers(back, { 'x-app-1': change });

  it('has new containers of the old image', () => {
    expect(judgeBroughtBack(before, back)).toEqual([]);
    expect(judgeBroughtBack(before, { ...back, files: after.files }, bumped)).toEqual([]);
  });

  it.each<[string, Look, RegExp]>([
    ['the new image', app({ image: 'sha256:new' }), /^containers brought back: .*{"image":"sha256:new"}}$/],
    ['one that is not well', app({ health: 'unhealthy' }), /^containers brought back: .*"unhealthy"}}$/],
    ['one that was restarted', app({ restarts: 2 }), /^containers brought back: .*{"restarts":2}}$/],
    ['one that has ended', app({ status: 'exited' }), /^containers brought back: .*{"status":"exited"}}$/],
    ['another db', withContainers(back, { 'x-db-1': { id: 'x' } }), /^other containers: .*{"id":"x"}}$/],
    ['a start of the new version', booted(back, 'app v1.1.0'), /^the new version has run: app v1.1.0$/],
    ['a new file', { ...back, files: after.files }, /^files: .*v1.1.0/],
    ['a tag that moved', { ...back, tags: {} }, /^tags: /],
    ['a lock', { ...back, leftovers: ['.svc-updater/lock'] }, /^left over: .svc-updater\/lock$/],
  ])('has not %s', (_, found, fact) => {
    expect(judgeBroughtBack(before, found)).toEqual(matching([fact]));
  });
});

describe('an instance that is broken', () => {
  const states = { 'the old ones': before.files, 'the new ones': after.files };
  const unwell = { status: 'restarting', health: 'unhealthy', restarts: 4 };
  const broken = { ...withContainers(after, { 'x-app-1': unwell }), version: null };

  it('has its files, its data and its neighbours', () => {
    expect(judgeBroken(before, broken, states)).toEqual([]);
    expect(judgeBroken(before, { ...broken, kept: { onDisk: 'kept', served: null } }, states)).toEqual([]);
  });

  it.each<[string, Look, ...RegExp[]]>([
    [
      'one gone',
      withContainers(broken, { 'x-app-1': null }),
      /^names of containers: /,
      /^anonymous volumes: /,
    ],
    ['another db', withContainers(broken, { 'x-db-1': { id: 'x' } }), /^other containers: .*{"id":"x"}}$/],
    [
      'a start of the old one',
      booted(broken, 'app v1.1.0', 'app v1.0.0'),
      /^the old version was started after/,
    ],
    [
      'no data',
      { ...broken, kept: { onDisk: null, served: null } },
      /^data on disk: expected "kept", found null$/,
    ],
    ['a lock', { ...broken, leftovers: ['.svc-updater/lock'] }, /^left over: .svc-updater\/lock$/],
    [
      'another file',
      { ...broken, files: {} },
      /^files, held against the old ones: /,
      /against the new ones: /,
    ],
  ])('has not %s', (_, found, ...facts) => {
    expect(judgeBroken(before, found, states)).toEqual(matching(facts));
  });
});

describe('files', () => {
  const old = { 'a.yaml': file('v1'), 'b.yaml': file('v1') };
  const next = { 'a.yaml': file('v2'), 'b.yaml': file('v2') };
  const half = { 'a.yaml': file('v2'), 'b.yaml': file('v1') };

  it('belong together', () => {
    expect(judgeFilesTogether({ old, next }, next)).toEqual([]);
    expect(judgeFilesTogether({ old, next }, half)).toEqual([
      'files, held against old: expected {"a.yaml":{"text":"v1"}}, found {"a.yaml":{"text":"v2"}}',
      'files, held against next: expected {"b.yaml":{"text":"v2"}}, found {"b.yaml":{"text":"v1"}}',
    ]);
  });

  it('are whole after a kill, each by itself, whatever lies beside them', () => {
    expect(judgeEachFile([old, next], { ...half, 'a.yaml.tmp': file('') })).toEqual([]);
    expect(judgeEachFile([old, next], { ...half, 'a.yaml': file('v') })).toEqual([
      'a.yaml is neither the old nor the new one: {"kind":"file","mode":"640","owner":"0:0","text":"v"}',
    ]);
    expect(judgeEachFile([old, next], { 'a.yaml': file('v1') })).toEqual([
      'b.yaml is neither the old nor the new one: undefined',
    ]);
  });
});
