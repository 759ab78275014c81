// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { expect, it } from 'vitest';
import type { Installation } from '../../../../../src/updater/compose/inspect/installation.ts';
import { listFilesToWrite } from '../../../../../src/updater/compose/plan/files/list-files-to-write.ts';
import { at, composeText, generated, installed, planTo } from '../../../../build-plan.ts';

type Texts = Record<string, string>;
const app = (reference: string) => ({ 'compose.yaml': composeText({ app: reference }) });
const digest = `sha256:${'a'.repeat(64)}`;
const own = { 'compose.yaml': generated({ app: 'acme/svc:${SVC_VERSION}' }) };

it.each<[string, Texts, Installation['kind'], string | null, string[]]>([
  [
    'a variable',
    { ...app('acme/svc:${V}'), '.env': 'V=v1.0.0', 'b.env': '' },
    'user-written',
    'v1.1.0',
    ['.env'],
  ],
  [
    'a default that floats',
    { ...app('acme/svc:${V:-latest}'), '.env': '', 'b.env': '' },
    'user-written',
    'canary',
    ['b.env'],
  ],
  ['a tag that is pulled again', app('acme/svc:latest'), 'user-written', null, []],
  [
    'a digest, whatever its tag does',
    app(`acme/svc:latest@${digest}`),
    'user-written',
    null,
    ['compose.yaml'],
  ],
  [
    'a generated file and all env files',
    { ...own, '.env': '', 'b.env': 'SVC_VERSION=v1.0.0' },
    'generated',
    'v1.1.0',
    ['b.env', 'compose.yaml', '.env'],
  ],
  [
    'both files of a cluster',
    {
      ...own,
      'compose.cluster.yaml': 'services: {}',
      'more.yaml': 'services: {}',
      '.env': 'SVC_VERSION=v1.0.0',
    },
    'generated',
    'v1.1.0',
    ['.env', 'compose.yaml', 'compose.cluster.yaml'],
  ],
])('lists the files that may be written for %s', (_, texts, kind, to, expected) => {
  const from = installed(texts, { kind });
  expect(listFilesToWrite(planTo(to, from))).toEqual(expected.map(at));
});
