import { describe, expect, it } from 'vitest';
import { type EndingFacts, nothingKnown } from '../../../src/agent/log/ending-facts.ts';
import { endingFacts, nothingYet, type RunSoFar } from '../../../src/agent/resume/run-so-far.ts';
import { Journal, type JournalData } from '../../../src/agent/state/journal.ts';
import { changeover, container, installation, journalData, movedService, project } from '../../build.ts';

describe('endingFacts', () => {
  const text = 'services:\n  app:\n    image: acme/svc:v1.0.0\n  worker:\n    image: acme/svc:v1.0.0\n';
  const files = {
    composeFiles: [{ path: '/opt/svc/compose.yaml', text }],
    envFiles: [],
    newEnvFile: '/opt/svc/.env',
  };
  const image = 'acme/svc:v1.0.0';
  const model = { name: 'svc', services: { app: { image }, worker: { image } } };
  const followers = { sidecar: [container('sidecar-1')] };
  // The sidecar is in none of the answers: nobody brings a follower up by its name.
  const inspected = installation(files, model, { followers, runningVersion: '1.0.3' });
  const unknown = { ...inspected, runningVersion: null };

  const moved = [movedService('app'), movedService('jobs'), movedService('sidecar', { follows: true })];
  const half = { phase: 'recreate', changeover: changeover({ moved }), from: 'v0.9.0' } as const;
  const journal = (changes: Partial<JournalData> = {}) =>
    new Journal({ state: '/nonexistent', restore: async () => {} }, journalData(changes));
  const earlier = (stands: boolean, changes: Partial<JournalData> = {}) => ({
    data: journalData(changes),
    stands,
  });

  const seen = { version: 'v1.0.3', project, services: ['app', 'worker'], halfDone: null, touched: false };
  const ofJournal = { ...seen, version: 'v1.0.0' };
  const ofHalf = { ...seen, version: 'v0.9.0', services: ['app', 'jobs'] };
  const halfDone =
    'the update to v1.1.0 of 2026-11-21 10:42:07 UTC was interrupted in recreate: app and jobs may be half replaced';

  const stopped = { ...inspected, app: { ...inspected.app, running: 0 } };
  const touchedNow = { ...seen, touched: true };
  const goesOn = { journal: journal(half) };
  it.each<[situation: string, Partial<RunSoFar>, EndingFacts]>([
    ['nothing is known', {}, nothingKnown],
    ['the instance was inspected', { installation: inspected }, seen],
    ['its images do not tell their version', { installation: unknown }, ofJournal],
    ['the run has a journal', { installation: inspected, journal: journal() }, seen],
    ['its app is stopped', { installation: stopped }, { ...seen, isStopped: true }],
    ['its app was started before it was replaced', { installation: stopped, ...goesOn }, touchedNow],
    ['it replaces containers', { installation: inspected, ...goesOn }, touchedNow],
    ['it goes on with another', goesOn, { ...ofHalf, touched: true }],

    ['an earlier one stands', { earlier: earlier(true) }, ofJournal],
    ['an earlier one is half done', { earlier: earlier(true, half) }, { ...ofHalf, halfDone }],
    [
      'one is half done, and the instance inspected',
      { installation: inspected, earlier: earlier(true, half) },
      { ...seen, halfDone },
    ],
    ['that is settled, and inspected', { installation: inspected, earlier: earlier(false, half) }, seen],
    [
      'one is half done, and gone on with',
      { ...goesOn, earlier: earlier(true, half) },
      { ...ofHalf, halfDone, touched: true },
    ],
    [
      'that is settled, and gone on with',
      { ...goesOn, earlier: earlier(false, half) },
      { ...ofHalf, touched: true },
    ],
  ])('says where %s what the last line needs', (_, handles, expected) => {
    expect(endingFacts({ ...nothingYet(), ...handles })).toEqual(expected);
  });
});
