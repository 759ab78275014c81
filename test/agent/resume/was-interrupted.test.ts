import { describe, expect, it } from 'vitest';
import type { Ending } from '../../../src/agent/log/ending.ts';
import { wasInterrupted } from '../../../src/agent/resume/was-interrupted.ts';
import { type Changeover, type ContainerRecord, recordOf } from '../../../src/agent/state/changeover.ts';
import { emptyJournal, type JournalData } from '../../../src/agent/state/journal.ts';
import { type Container, readContainer } from '../../../src/engine/container.ts';

const began = '2026-11-21T10:00:00Z';
const zero = '0001-01-01T00:00:00Z';

const worker = (id: string, status: string, startedAt = began, image = 'old'): Container =>
  readContainer({
    Id: id,
    Name: `/svc-worker-1`,
    Image: image,
    State: { Status: status, StartedAt: startedAt },
    Config: {
      Labels: { 'com.docker.compose.service': 'worker', 'com.docker.compose.container-number': '1' },
    },
  });
const never = () => false;
const broken: Ending = { outcome: 'broken', exitCode: 5, message: '' };
const failed: Ending = { outcome: 'failed', exitCode: 4, message: '' };

function journal(record: ContainerRecord, changes: Partial<JournalData> = {}): JournalData {
  const moved = [{ name: 'worker', isApp: false, follows: false, image: null, awaits: [] }];
  const changeover = { moved, containers: [record] } as unknown as Changeover;
  return { ...emptyJournal, containers: [record], changeover, ...changes } as unknown as JournalData;
}

describe('wasInterrupted: a container that is down', () => {
  const ran = recordOf(worker('1', 'running'), never);
  const down = recordOf(worker('1', 'exited'), never);
  const downByUs = recordOf(worker('1', 'exited'), () => true);

  it.each<[string, JournalData | null, Container, boolean]>([
    ['without a journal', null, worker('1', 'exited'), false],
    ['was stopped by a run that was killed', journal(ran), worker('1', 'exited'), true],
    [
      'was stopped by a run that ended broken',
      journal(ran, { outcome: broken }),
      worker('1', 'exited'),
      true,
    ],
    ['runs', journal(ran), worker('1', 'running'), false],
    ['was stopped before the run', journal(down), worker('1', 'exited'), false],
    [
      'was started since, and stopped again',
      journal(ran),
      worker('1', 'exited', '2026-11-21T11:00:00Z'),
      false,
    ],
    [
      'was stopped after a run that had put all back',
      journal(ran, { outcome: failed }),
      worker('1', 'exited'),
      false,
    ],
    [
      'was down through a run that failed early',
      journal(downByUs, { outcome: failed }),
      worker('1', 'exited'),
      true,
    ],
    ['was made by the run and never started', journal(ran), worker('2', 'created', zero, 'new'), true],
    [
      'was made by the run in place of a stopped one',
      journal(down),
      worker('2', 'created', zero, 'new'),
      false,
    ],
    ['was made by the run and stopped since', journal(ran), worker('2', 'exited', began, 'new'), false],
    ['was made by somebody from the old image', journal(ran), worker('2', 'created', zero), false],
  ])('%s', (_, data, container, expected) => {
    expect(wasInterrupted(data)(container)).toBe(expected);
  });
});
