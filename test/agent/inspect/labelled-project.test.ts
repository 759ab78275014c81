import { expect, it } from 'vitest';
import { possiblePaths, splitPaths } from '../../../src/agent/inspect/labelled-project.ts';

it.each<[string, string, string[]]>([
  ['', '/opt/svc', []],
  ['/opt/svc/compose.yaml', '/opt/svc', ['/opt/svc/compose.yaml']],
  ['/opt/svc/a.yaml,/etc/b.yaml', '/opt/svc', ['/opt/svc/a.yaml', '/etc/b.yaml']],
  ['/opt/a,b/a.yaml,/opt/a,b/b,c.yaml', '/opt/a,b', ['/opt/a,b/a.yaml', '/opt/a,b/b,c.yaml']],
  ['/opt/a,/b/a.yaml,/opt/a,/b/c.yaml', '/opt/a,/b', ['/opt/a,/b/a.yaml', '/opt/a,/b/c.yaml']],
  ['/a/opt/svc/a.yaml,/opt/svc/b.yaml', '/opt/svc', ['/a/opt/svc/a.yaml', '/opt/svc/b.yaml']],
  ['compose.yaml,more.yaml', '/opt/svc', ['compose.yaml', 'more.yaml']],
])('takes %j in %j apart', (label, directory, expected) => {
  expect(splitPaths(label, directory)).toEqual(expected);
});

it.each<[string, string, string, string]>([
  [
    'docker-compose.yml,docker-compose.override.yml',
    '/opt/svc',
    '',
    'docker-compose.yml docker-compose.override.yml',
  ],
  ['svc/prod.yml,site.yml', '/opt/svc', '../site.env', '/opt/svc/prod.yml /opt/site.yml /site.env'],
  ['a/svc/prod.yml', '/a/svc', 'x.env', '/a/svc/prod.yml /x.env'],
  ['../svc/prod.yml,../site.yml', '/opt/svc', '', '/opt/svc/prod.yml /opt/site.yml'],
  ['../docker-compose.yml', '/opt/svc', '', 'docker-compose.yml'],
  // With --project-directory.
  ['deploy/prod.yml', '/opt/svc', 'x.env', 'deploy/prod.yml x.env'],
  ['/etc/a.yml,b.yml', '/opt/svc', '', '/etc/a.yml b.yml'],
])('%j of docker-compose 1 may lead from %j first of all to', (files, directory, env, expected) => {
  const list = (text: string, by: string) => text.split(by).filter(Boolean);
  const [first] = possiblePaths({ files: list(files, ','), envFiles: list(env, ',') }, directory);
  expect([...(first?.files ?? []), ...(first?.envFiles ?? [])]).toEqual(
    list(expected, ' ').map((path) => (path.startsWith('/') ? path : `${directory}/${path}`)),
  );
});
