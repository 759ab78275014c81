import { expect, it } from 'vitest';
import { PullProgressMeter } from '../../../src/engine/registry/pull-progress.ts';

const line = (id: string, text: string, current?: number, total?: number) =>
  JSON.stringify({ id, parent_id: 'app', text, status: '[=>   ]', current, total });

it('weighs layers by bytes and never reports 100', () => {
  const meter = new PullProgressMeter();
  expect(meter.readLine('{"id":"app","text":"Pulling"}')).toBeNull();
  expect(meter.readLine(line('a', 'Already exists'))).toBeNull();
  expect(meter.readLine(line('a', 'Downloading', 10, 100))).toEqual({
    percent: 10,
    doneBytes: 10,
    totalBytes: 100,
  });
  expect(meter.readLine(line('b', 'Downloading', 100, 300))).toEqual({
    percent: 27,
    doneBytes: 110,
    totalBytes: 400,
  });
  meter.readLine(line('a', 'Download complete'));
  expect(meter.readLine(line('b', 'Extracting', 1, 300))).toEqual({
    percent: 99,
    doneBytes: 400,
    totalBytes: 400,
  });
});

it('never decreases if a layer is announced late', () => {
  const meter = new PullProgressMeter();
  expect(meter.readLine(line('a', 'Downloading', 80, 100))?.percent).toBe(80);
  expect(meter.readLine(line('b', 'Downloading', 0, 900))?.percent).toBe(80);
  expect(meter.readLine(line('b', 'Downloading', 850, 900))?.percent).toBe(93);
});

it('reads compose 5, which swaps status and text', () => {
  const meter = new PullProgressMeter();
  const event = {
    id: 'abc',
    parent_id: 'Image svc:v1',
    status: 'Working',
    text: 'Downloading',
    current: 5,
    total: 10,
  };
  expect(meter.readLine(JSON.stringify(event))?.percent).toBe(50);
});

it('reads the containerd store, with an unannounced configuration and unpacking in seconds', () => {
  const meter = new PullProgressMeter();
  const said = (id: string, status: string, text: string, more: object = {}) =>
    meter.readLine(JSON.stringify({ id, parent_id: 'Image svc:v1', status, text, ...more }));
  said('13c129d19b7f', 'Working', 'Pulling fs layer', { details: '0B' });
  said('f1c07ed2bcd9', 'Working', 'Pulling fs layer', { details: '0B' });
  said('44136fa355b3', 'Done', 'Already exists', { details: '0B', percent: 100 });
  const first = { details: '2.097MB', current: 2_097_152, total: 36_011_176, percent: 5 };
  expect(said('13c129d19b7f', 'Working', 'Downloading', first)?.percent).toBeNull();
  const second = { details: '10.49MB', current: 10_485_760, total: 12_003_846, percent: 87 };
  expect(said('f1c07ed2bcd9', 'Working', 'Downloading', second)).toEqual({
    percent: 26,
    doneBytes: 12_582_912,
    totalBytes: 48_015_022,
  });
  said('f1c07ed2bcd9', 'Done', 'Download complete', { details: '0B', percent: 100 });
  said('6cc67e97699f', 'Done', 'Download complete', { details: '0B', percent: 100 });
  expect(said('f1c07ed2bcd9', 'Working', 'Extracting', { details: '1B', current: 1 })).toEqual({
    percent: 29,
    doneBytes: 14_100_998,
    totalBytes: 48_015_022,
  });
});

it('ignores other lines', () => {
  expect(new PullProgressMeter().readLine('time="…" level=warning msg="x"')).toBeNull();
  expect(new PullProgressMeter().readLine('{"id":')).toBeNull();
});

it('returns no percentage before the size of every layer is known', () => {
  const meter = new PullProgressMeter();
  for (const id of ['small', 'large', 'there']) meter.readLine(line(id, 'Pulling fs layer'));
  expect(meter.readLine(line('there', 'Already exists'))).toBeNull();
  expect(meter.readLine(line('small', 'Downloading', 500, 500))).toEqual({
    percent: null,
    doneBytes: 500,
    totalBytes: 500,
  });
  expect(meter.readLine(line('small', 'Download complete'))?.percent).toBeNull();
  expect(meter.readLine(line('large', 'Downloading', 90, 9_000))?.percent).toBe(6);
  expect(meter.readLine(line('large', 'Downloading', 4_500, 9_000))?.percent).toBe(52);
});

it.each<[string, boolean, string[]]>([
  ['nothing', false, []],
  ["Docker's beginning", false, ['Pulling from acme/svc']],
  ["Docker's, without its end", false, ['Pulling from acme/svc', 'Pull complete', 'Digest: sha256:1']],
  [
    "Docker's",
    true,
    ['Pulling from acme/svc', 'Pull complete', 'Digest: sha256:1', 'Status: Downloaded newer'],
  ],
  ["Docker's, of what is here", true, ['Pulling from acme/svc', 'Status: Image is up to date for it']],
  ["another engine's", true, ['Trying to pull', 'Download complete']],
])('detects whether a pull has ended, from %s: %s', (_, isOver, words) => {
  const meter = new PullProgressMeter();
  for (const status of words) meter.addEvent({ status });
  expect(meter.hasEnded).toBe(isOver);
});

it('ignores layers beyond any real number, so that an endless pull needs little memory', () => {
  const meter = new PullProgressMeter();
  for (let n = 0; n < 2_000; n++) meter.addEvent({ id: `layer ${n}`, status: 'Waiting' });
  expect(meter.addEvent({ id: 'one more', status: 'Downloading', progressDetail: { total: 9 } })).toBeNull();
  expect(
    meter.addEvent({ id: 'layer 0', status: 'Downloading', progressDetail: { total: 9 } })?.totalBytes,
  ).toBe(9);
});
