import { expect, it } from 'vitest';
import { splitLabelPaths } from '../../../../../src/updater/compose/inspect/find-project/labeled-project.ts';

it.each<[string, string, string[]]>([
  ['', '/opt/svc', []],
  ['/opt/svc/compose.yaml', '/opt/svc', ['/opt/svc/compose.yaml']],
  ['/opt/svc/a.yaml,/etc/b.yaml', '/opt/svc', ['/opt/svc/a.yaml', '/etc/b.yaml']],
  ['/opt/a,b/a.yaml,/opt/a,b/b,c.yaml', '/opt/a,b', ['/opt/a,b/a.yaml', '/opt/a,b/b,c.yaml']],
  ['/opt/a,/b/a.yaml,/opt/a,/b/c.yaml', '/opt/a,/b', ['/opt/a,/b/a.yaml', '/opt/a,/b/c.yaml']],
  ['/a/opt/svc/a.yaml,/opt/svc/b.yaml', '/opt/svc', ['/a/opt/svc/a.yaml', '/opt/svc/b.yaml']],
])('splits the label %j of a project in %j into paths', (label, directory, expected) => {
  expect(splitLabelPaths(label, directory)).toEqual(expected);
});
