import { describe, expect, it } from 'vitest';
import { separateLeftoverContainers } from '../../../../src/engine/containers/project-containers.ts';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { findInterruptedContainers } from '../../../../src/updater/compose/verify/start-interrupted.ts';
import { changeover, container, record } from '../../../build.ts';

const app = container('app-1', { id: 'fedcba9876543210' });
const db = container('db-1', { id: '0123456789abcdef' });
const made = (changes: Partial<Container> = {}): Container =>
  container('db-1', { id: 'made', status: 'created', name: '0123456789ab_svc-db-1', ...changes });
const exited: Container = { ...db, status: 'exited' };

const left = (now: Container[], before: Container[] = [app, db]): string[] =>
  findInterruptedContainers(
    changeover({ containers: before.map((each) => record(each)) }),
    separateLeftoverContainers(now),
  ).map(({ id }) => id);

describe('findInterruptedStarts', () => {
  it.each<[string, Container[], string[]]>([
    ['nothing where all is as it was', [app, db], []],
    ['the old one while it runs still', [app, db, made()], [db.id]],
    ['the old one, which it has stopped to replace it', [app, exited, made()], [exited.id]],
    ['the new one, which has no name yet', [app, made()], ['made']],
    ['the new one, which it has not started', [app, made({ name: 'svc-db-1' })], ['made']],
    ['nothing where somebody has stopped it', [app, exited], []],
    [
      'nothing of app and worker',
      [app, made({ labels: app.labels, name: 'fedcba987654_svc-app-1' }), db],
      [],
    ],
  ])('returns %s', (_, now, expected) => {
    expect(left(now)).toEqual(expected);
  });

  it('ignores containers that were stopped before', () => {
    expect(left([app, made({ name: 'svc-db-1' })], [app, exited])).toEqual([]);
  });
});
