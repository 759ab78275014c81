import { expect, it } from 'vitest';
import { parseLine } from '../../src/progress/line.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { judgeEachFile, judgeFilesTogether } from './files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched, judgeUpdated } from './judge.ts';
import { judgeBrokenLog, judgeGoodLog, judgeOutcome, judgeWords } from './log.ts';
import { after, before, booted, bumped, file, withContainers } from './states.ts';

// A judge that cannot find anything wrong would let everything pass: here each verdict is given once of what is good, and
// once of what is broken on purpose. test/e2e/instance.test.ts breaks a real instance, one thing at a time.

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
    lines: log.split('\n').flatMap((line) => parseLine(line) ?? []),
    durationMs: 1,
  };
}
const updated = run(0, 'INFO plan app runs v1.0.0', 'INFO done updated v1.0.0 → v1.1.0');
const words = { exitCode: 0, says: ['app runs'], ends: [/^updated/], never: ['secret'] };
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
    'files that belong together',
    judgeFilesTogether({ old: before.files, next: after.files }, after.files),
    judgeFilesTogether({ old: before.files }, after.files),
    /^files, held against old: /,
  ],
  [
    'files that are whole, each by itself',
    judgeEachFile([before.files, after.files], { ...before.files, 'a.yaml.tmp': file('') }),
    judgeEachFile([before.files, after.files], { ...before.files, '.env': file('SVC_') }),
    /^\.env is neither the old nor the new one: /,
  ],
  [
    'the words of a run',
    judgeWords(updated, words),
    judgeWords({ ...updated, log: `${updated.log}secret` }, words),
    /^the log says secret$/,
  ],
  [
    'the words of a bad end',
    judgeWords(run(4, 'ERROR done failed (pull-unknown): nothing was changed. Next: Run it.'), badEnd),
    judgeWords(run(4, 'ERROR done failed: nothing was changed.'), badEnd),
    /^the last line has no code or no advice: /,
  ],
  [
    'the log of a good run',
    judgeGoodLog(run(0, 'WARN plan one', 'INFO done updated'), { warns: ['one'] }),
    judgeGoodLog(updated, { warns: ['one'] }),
    /^warnings: expected one, found \[\]$/,
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
])('%s', (_, good, bad, fact) => {
  expect(good).toEqual([]);
  expect(bad).toEqual([expect.stringMatching(fact)]);
});
