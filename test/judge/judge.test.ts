import { expect, it } from 'vitest';
import { parseEventLine } from '../../src/core/progress/log-line.ts';
import type { ContainerState, FileState } from '../rig/snapshot.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { changeFiles, judgeEachFile } from './files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched, judgeUpdated } from './judge.ts';
import { judgeBrokenLog, judgeOutcome, judgeWords } from './log.ts';
import type { Look } from './look.ts';

// A judge that finds no errors would accept everything. Therefore each check is called with a correct example and with
// a deliberately damaged one.

// An instance at v1.0.0, and after a successful update to v1.1.0.
const repository = '127.0.0.1:5000/x/svc';

const container = (service: string, changes: Partial<ContainerState> = {}): ContainerState => ({
  id: `${service}-old`,
  service,
  image: 'sha256:old',
  reference: `${repository}:v1.0.0`,
  startedAt: '10:00',
  status: 'running',
  health: 'healthy',
  restarts: 0,
  volumes: {},
  ...changes,
});

const file = (text: string, changes: Partial<FileState> = {}): FileState => ({
  kind: 'file',
  mode: '640',
  owner: '0:0',
  text,
  ...changes,
});

const before: Look = {
  version: 'v1.0.0',
  workerVersion: 'v1.0.0',
  kept: { onDisk: 'kept', served: 'kept' },
  containers: {
    'x-app-1': container('app', { volumes: { '/cache': 'old' } }),
    'x-worker-1': container('worker'),
    'x-db-1': container('db', { image: 'sha256:db', health: undefined }),
  },
  strays: [],
  files: { '.env': file('SVC_VERSION=v1.0.0\n'), 'compose.yaml': file('services: {}\n') },
  tags: { [`${repository}:v1.0.0`]: 'sha256:old', [`${repository}:canary`]: 'sha256:old' },
  boots: ['app v1.0.0', 'worker v1.0.0'],
  leftovers: [],
};

const bumped = { '.env': 'SVC_VERSION=v1.1.0\n' };

const fresh = (service: string): Partial<ContainerState> => ({
  id: `${service}-new`,
  startedAt: '11:00',
  image: 'sha256:new',
  reference: `${repository}:v1.1.0`,
});

const after: Look = {
  ...withContainers(before, { 'x-app-1': fresh('app'), 'x-worker-1': fresh('worker') }),
  version: 'v1.1.0',
  workerVersion: 'v1.1.0',
  files: changeFiles(before.files, bumped),
  tags: { ...before.tags, [`${repository}:v1.1.0`]: 'sha256:new' },
  boots: [...before.boots, 'app v1.1.0', 'worker v1.1.0'],
};

/** The look with changed containers; null removes a container. */
function withContainers(look: Look, changes: Record<string, Partial<ContainerState> | null>): Look {
  const containers = { ...look.containers };
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete containers[name];
    else containers[name] = { ...(containers[name] ?? container('app')), ...change };
  }
  return { ...look, containers };
}

/** The look with exactly these starts since `before`. */
const booted = (look: Look, ...boots: string[]): Look => ({
  ...look,
  boots: [...before.boots, ...boots],
});

const again = { id: 'again', startedAt: '11:00', reference: 'sha256:old' };
const back = booted(
  withContainers(before, { 'x-app-1': again, 'x-worker-1': again }),
  'app v1.0.0',
  'worker v1.0.0',
);
const unwell = { status: 'restarting', health: 'unhealthy', restarts: 4 };
const broken = { ...withContainers(after, { 'x-app-1': unwell }), version: null };
const otherDb = { 'x-db-1': { id: 'x' } };
const expected = { version: 'v1.1.0', changed: bumped };
const states = { 'the old ones': before.files, 'the new ones': after.files };

/** A run whose log has these lines, written as `INFO done updated …`. */
function run(exitCode: number, ...lines: string[]): UpdateResult {
  const log = lines
    .map((line) => `2026-11-21T10:00:00.000Z ${line.replace(/^(INFO|WARN) /, '$1  ')}\n`)
    .join('');
  return {
    exitCode,
    log,
    lines: log.split('\n').flatMap((line) => parseEventLine(line) ?? []),
    durationMs: 1,
  };
}
const updated = run(0, 'INFO done updated v1.0.0 → v1.1.0');
const badEnd = { exitCode: 4, says: [], ends: [] };
const look = 'ERROR done broken (broken): it is not well. Next: Look';

it.each<[verdict: string, good: string[], bad: string[], fact: RegExp]>([
  [
    'a good update',
    judgeUpdated(before, after, expected),
    judgeUpdated(before, withContainers(after, otherDb), expected),
    /^other containers: .*, found {"x-db-1":{"id":"x"}}$/,
  ],
  [
    'an instance that was not touched',
    judgeUntouched(before, before),
    judgeUntouched(before, { ...before, tags: {} }),
    /^tags: .*, found {".*:v1.0.0":null,".*:canary":null}$/,
  ],
  [
    'an instance brought back',
    judgeBroughtBack(before, back),
    judgeBroughtBack(before, booted(back, 'app v1.1.0')),
    /^the new version has run: app v1.1.0$/,
  ],
  [
    'an instance that is broken',
    judgeBroken(before, broken, states),
    judgeBroken(before, { ...broken, kept: { onDisk: null, served: null } }, states),
    /^data on disk: expected "kept", found null$/,
  ],
  [
    'files that are whole, each by itself',
    judgeEachFile([before.files, after.files], { ...before.files, 'a.yaml.tmp': file('') }),
    judgeEachFile([before.files, after.files], { ...before.files, '.env': file('SVC_') }),
    /^\.env is neither the old nor the new one: /,
  ],
  [
    'the words of a bad end',
    judgeWords(run(4, 'ERROR done failed (pull-unknown): nothing was changed. Next: Run it.'), badEnd),
    judgeWords(run(4, 'ERROR done failed: nothing was changed.'), badEnd),
    /^the last line has no code or no advice: /,
  ],
  [
    'the outcome',
    judgeOutcome(updated, ['updated']),
    judgeOutcome({ ...updated, exitCode: 4 }, ['updated']),
    /^the run ended updated with exit code 4$/,
  ],
  [
    'an end that says what to type',
    judgeBrokenLog(run(5, `${look}, then docker compose -p x up -d`)),
    judgeBrokenLog(run(5, `${look}.`)),
    /^the last line does not say what to type: /,
  ],
])('the judge reports only the damaged example: %s', (_, good, bad, fact) => {
  expect(good).toEqual([]);
  expect(bad).toEqual([expect.stringMatching(fact)]);
});
