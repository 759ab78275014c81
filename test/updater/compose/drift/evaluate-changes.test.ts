// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { expect, it } from 'vitest';
import type { DriftChange } from '../../../../src/updater/compose/drift/changes.ts';
import {
  evaluateDriftChanges,
  formatEditWarnings,
} from '../../../../src/updater/compose/drift/evaluate-changes.ts';

const service = 'app';
const place = { section: 'volumes', item: '/data' };
const bind = (source: string) => JSON.stringify({ type: 'bind', source });
const right: DriftChange = { service, kind: 'gain', right: { ...place, name: "the host's /etc at /data" } };
const moved: DriftChange = {
  service,
  kind: 'difference',
  difference: { ...place, running: bind('/data'), planned: bind('/etc') },
};
const added: DriftChange = {
  service,
  kind: 'difference',
  difference: { ...moved.difference, running: null },
};
const copy: DriftChange = { service, kind: 'copy', of: 'configs', source: 'site', isNew: false };
const gives = "app: the host's /etc at /data would be granted";
const moves = 'app: the source of the mount at /data would change from /data to /etc';

it.each<[what: string, changes: [DriftChange, ...string[]][], losses: string[], warnings: string[]]>([
  ['a right is refused', [[right]], [gives], []],
  ['what is lost says what comes there', [[moved], [right]], [moves], []],
  ['a mere change is told as the right that it gives', [[added], [right]], [gives], []],
  [
    'also where only a shell can have',
    [
      [added, '$DIR'],
      [right, '$DIR'],
    ],
    ['app: a mount at /data would be added (DIR is not set in any file)'],
    [],
  ],
  ['an edited config', [[copy, 'a $SET']], [], ['app: config site']],
  [
    'a config that a shell had a part in',
    [[copy, 'a ${DIR:-b}']],
    ['app: config site would change (DIR is not set in any file)'],
    [],
  ],
  ['a new secret', [[{ ...copy, of: 'secrets', isNew: true }]], [], ['app: secret site']],
  [
    'an image that the files name otherwise by an edit',
    [[{ service, kind: 'image', image: { running: 'svc:v1', inFiles: 'svc:v2' } }, 'svc:v2']],
    [],
    [],
  ],
])('evaluateChanges: %s', (_, changes, losses, warnings) => {
  const given = changes.map(([change, ...texts]): [DriftChange, string[]] => [change, texts]);
  const found = evaluateDriftChanges(given, {
    setTo: (name) => (name === 'SET' ? 'x' : null),
    home: '/root',
  });
  expect(found.flatMap((each) => (each.isLoss ? [each.sentence] : []))).toEqual(losses);
  expect(found.flatMap((each) => (each.isLoss ? [] : [`${each.service}: ${each.key}`]))).toEqual(warnings);
});

it('warns about the edits of a service in one line', () => {
  const edit = (key: string, of = 'app') => ({ service: of, isLoss: false as const, key });
  const loss = {
    service: 'app',
    isLoss: true as const,
    sentence: 'lost',
    remedy: { kind: 'apply' as const },
  };
  const found = [edit('restart'), loss, edit('label tier', 'worker'), edit('config site'), edit('restart')];
  const words = 'the files were edited after the app was started; the update will apply the edits of';
  expect(formatEditWarnings(found)).toEqual([
    `app: ${words} restart and config site`,
    `worker: ${words} label tier`,
  ]);
});
