import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  createInterruptionPredicate,
  createUnstartedContainerFilter,
} from '../../../../src/updater/run/state/interruption-predicate.ts';
import type { JournalData } from '../../../../src/updater/run/state/journal.ts';
import { type ContainerRecord, containerRecordOf } from '../../../../src/updater/run/state/rollout.ts';
import type { StoredRunState } from '../../../../src/updater/run/state/run-state.ts';
import { began, changeover, container, journalData, movedService, never } from '../../../build.ts';

const worker = (id: string, status: string, startedAt = began, imageId = 'old'): Container =>
  container('worker-1', { id, status, startedAt, imageId });
const later = '2026-11-21T11:00:00Z';
const nobody = () => false;
const failed: StoredRunState = {
  at: 'ended',
  ending: { outcome: 'failed', exitCode: 4, message: '' },
  left: null,
};

function journal(record: ContainerRecord, changes: Partial<JournalData> = {}): JournalData {
  const moved = [movedService('worker', { image: null })];
  const containers = [record];
  return journalData({ containers, changeover: changeover({ moved, containers }), ...changes });
}

describe('createInterruptionTest: a stopped container', () => {
  const ran = containerRecordOf(worker('1', 'running'), nobody);
  const down = containerRecordOf(worker('1', 'exited'), nobody);
  const downByUs = containerRecordOf(worker('1', 'exited'), () => true);

  const stopped = worker('1', 'exited');
  const created = worker('2', 'created', never, 'new');
  it.each<[string, JournalData | null, Container, boolean]>([
    ['without a journal', null, stopped, false],
    ['was stopped by a run that was killed', journal(ran), stopped, true],
    ['was stopped before the run', journal(down), stopped, false],
    ['was started since, and stopped again', journal(ran), { ...stopped, startedAt: later }, false],
    ['was stopped after a run that had put all back', journal(ran, { state: failed }), stopped, false],
    ['was down through a run that failed early', journal(downByUs, { state: failed }), stopped, true],
    ['was made by the run and never started', journal(ran), created, true],
    ['was made by the run in place of a stopped one', journal(down), created, false],
    ['was made by somebody from the old image', journal(ran), { ...created, imageId: 'old' }, false],
  ])('is evaluated as interrupted or not: %s', (_, data, container, expected) => {
    expect(createInterruptionPredicate(data)(container)).toBe(expected);
  });
});

describe('createInterruptionTest: a container stopped or created by a killed docker compose command', () => {
  const id = '0123456789abcdef';
  const successor = container('worker-1', { status: 'created', name: '0123456789ab_svc-worker-1' });

  it('is detected by its successor', () => {
    expect(createInterruptionPredicate(null, [successor])(worker(id, 'exited'))).toBe(true);
    expect(createInterruptionPredicate(null, [successor])(worker(id, 'running'))).toBe(false);
    expect(createInterruptionPredicate(null, [successor])(worker('another', 'exited'))).toBe(false);
    expect(createInterruptionPredicate(null)(worker(id, 'exited'))).toBe(false);
  });

  it('is detected by its label as a replacement, unless the updater has created it to replace a stopped container', () => {
    const made = worker('made', 'created', never);
    const instead = { ...made, labels: { ...made.labels, [composeLabels.replaces]: 'worker-1' } };
    const [ran, down] = ['running', 'exited'].map((status) => containerRecordOf(worker('1', status), nobody));
    const of = (record = ran as ContainerRecord) =>
      journal(record, {
        changeover: changeover({ moved: [movedService('worker')], containers: [record] }),
        state: failed,
      });
    expect(createInterruptionPredicate(null)(instead)).toBe(true);
    expect(createInterruptionPredicate(of(ran))(instead)).toBe(true);
    expect(createInterruptionPredicate(of(down))(instead)).toBe(false);
    expect(createInterruptionPredicate(null)({ ...instead, status: 'exited' })).toBe(false);
    expect(createInterruptionPredicate(null)(made)).toBe(false);
  });
});

describe('createLeftDownTest: a container that was created but not started', () => {
  const made = worker('2', 'created', never, 'sha256:new');
  const ran = containerRecordOf(worker('1', 'running'), nobody);
  const down = containerRecordOf(worker('1', 'exited'), nobody);
  const moved = [movedService('worker')];
  const of = (record: ContainerRecord, changes: Partial<JournalData> = {}) =>
    journal(record, { changeover: changeover({ moved, containers: [record] }), ...changes });

  it.each<[string, JournalData | null, boolean]>([
    ['without a journal', null, false],
    ['in place of one that was stopped', of(down, { state: failed }), true],
    ['in place of one that ran', of(ran, { state: failed }), false],
    ['by a run that had replaced nothing', of(down, { changeover: null }), false],
  ])('is evaluated by the journal: %s', (_, data, expected) => {
    expect(createUnstartedContainerFilter(data)(made)).toBe(expected);
  });
});
