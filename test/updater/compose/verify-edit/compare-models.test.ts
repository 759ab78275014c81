// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import {
  compareComposeModels,
  listVariableSubstitutions,
} from '../../../../src/updater/compose/verify-edit/compare-models.ts';

const model = (services: ComposeModel['services'], rest: object = {}): ComposeModel => ({
  name: 'svc',
  services,
  ...rest,
});
const before = model({
  app: { image: 'svc:v1.0.0' },
  worker: { image: 'svc:v1.0.0' },
  db: { image: 'db:1' },
});
const planned = {
  images: new Map([
    ['app', 'svc:v1.1.0'],
    ['worker', 'svc:v1.1.0'],
  ]),
  substitutions: [],
  variableLocations: [],
  hasSharedPin: () => false,
};
const nothing = { unexpected: [], otherUses: [], alsoUpdatedServices: [] };
const moved = { app: { image: 'svc:v1.1.0' }, worker: { image: 'svc:v1.1.0' }, db: { image: 'db:1' } };

describe('compareModels', () => {
  it('accepts exactly the planned images', () => {
    expect(compareComposeModels(before, model(moved), planned)).toEqual(nothing);
  });

  it.each<[string, ComposeModel, string]>([
    [
      'a planned image that did not move',
      model({ ...moved, app: { image: 'svc:v1.0.0' } }),
      'services.app.image: svc:v1.0.0 instead of svc:v1.1.0',
    ],
    [
      'another value',
      model({ ...moved, db: { image: 'db:1', network_mode: 'host' } }),
      'services.db.network_mode: nothing → "host"',
    ],
    ['a network', model(moved, { networks: { a: { name: 'a' } } }), 'networks: nothing → {"a":{"name":"a"}}'],
  ])('does not accept %s', (_, after, expected) => {
    expect(compareComposeModels(before, after, planned).unexpected).toEqual([expected]);
  });

  const v = (to: string) => ({
    app: {
      image: `ghcr.io/acme/svc:${to}`,
      environment: { VERSION: to, IS: `release ${to}` },
      labels: { a: to },
      command: ['run', to],
      container_name: `app-${to}`,
    },
  });
  const one = { from: 'v1.0.0', to: 'v1.1.0' };
  const plan = (to: string, substitutions = [one], shares = false) => ({
    images: new Map([['app', `ghcr.io/acme/svc:${to}`]]),
    substitutions,
    variableLocations: [],
    hasSharedPin: () => shares,
  });

  it('accepts changes that come from the version variable', () => {
    expect(compareComposeModels(model(v('v1.0.0')), model(v('v1.1.0')), plan('v1.1.0'))).toEqual(nothing);
  });

  const with_ = (to: string, more: object) => model({ ...v(to), ...more });

  it('lists another service of the same publisher that is also updated', () => {
    const [from, to] = ['acme/proxy:v1.0.0-slim', 'acme/proxy:v1.1.0-slim'];
    const before = with_('v1.0.0', { other: { image: from } });
    const after = with_('v1.1.0', { other: { image: to } });
    expect(compareComposeModels(before, after, plan('v1.1.0'))).toEqual({
      ...nothing,
      alsoUpdatedServices: ['other'],
    });
    const alone = { app: { image: 'ghcr.io/acme/svc:v1.0.0' }, other: { image: from } };
    const then = { app: { image: 'ghcr.io/acme/svc:v1.1.0' }, other: { image: to } };
    const shared = compareComposeModels(model(alone), model(then), plan('v1.1.0', [], true));
    expect(shared).toEqual({ ...nothing, alsoUpdatedServices: ['other'] });
    const written = compareComposeModels(model(alone), model(then), plan('v1.1.0', []));
    expect(written).toEqual({
      ...nothing,
      unexpected: [`services.other.image: ${JSON.stringify(from)} → ${JSON.stringify(to)}`],
    });
  });

  it.each([
    ["another of Docker's own images", 'wordpress', 'nginx', false],
    ['of the same registry without publishers', 'host:5000/x', 'host:5000/y', true],
  ])('decides whether an image belongs to the release: %s', (_, app, web, isOne) => {
    const at = (tag: string) => model({ app: { image: `${app}:${tag}` }, web: { image: `${web}:${tag}` } });
    const images = new Map([['app', `${app}:v1.1.0`]]);
    const proof = compareComposeModels(at('v1.0.0'), at('v1.1.0'), { ...plan('v1.1.0'), images });
    expect(proof.alsoUpdatedServices).toEqual(isOne ? ['web'] : []);
    expect(proof.otherUses).toHaveLength(isOne ? 0 : 1);
  });

  it.each<[string, object, object, string]>([
    [
      "another publisher's image",
      { db: { image: 'postgres:v1.0.0' } },
      { db: { image: 'postgres:v1.1.0' } },
      'services.db.image: "postgres:v1.0.0" → "postgres:v1.1.0"',
    ],
    [
      "a database of the app's publisher",
      { db: { image: 'acme/postgres:v1.0.0' } },
      { db: { image: 'acme/postgres:v1.1.0' } },
      'services.db.image: "acme/postgres:v1.0.0" → "acme/postgres:v1.1.0"',
    ],
    [
      'an image whose digest stays',
      { other: { image: `acme/other:v1.0.0@sha256:${'a'.repeat(64)}` } },
      { other: { image: `acme/other:v1.1.0@sha256:${'a'.repeat(64)}` } },
      'services.other.image: ',
    ],
    [
      'where data lies',
      { db: { volumes: [{ type: 'bind', source: '/srv/v1.0.0', target: '/d' }] } },
      { db: { volumes: [{ type: 'bind', source: '/srv/v1.1.0', target: '/d' }] } },
      'services.db.volumes.0.source: "/srv/v1.0.0" → "/srv/v1.1.0"',
    ],
  ])('reports other uses of the version variable: %s', (_, from, to, expected) => {
    const proof = compareComposeModels(with_('v1.0.0', from), with_('v1.1.0', to), plan('v1.1.0'));
    expect(proof).toEqual({ ...nothing, otherUses: [expect.stringContaining(expected)] });
  });

  const mounts = (source: string, type = 'image') => ({ volumes: [{ type, source, target: '/assets' }] });
  it.each<[string, string, object, object]>([
    ['of the app', 'app', mounts('acme/assets:v1.0.0'), nothing],
    ['of another service', 'web', mounts('acme/assets:v1.0.0'), { ...nothing, alsoUpdatedServices: ['web'] }],
    [
      'of another publisher',
      'web',
      mounts('other/assets:v1.0.0'),
      { ...nothing, otherUses: [expect.stringContaining('services.web.volumes.0.source')] },
    ],
    [
      'that is a directory',
      'web',
      mounts('acme/assets:v1.0.0', 'bind'),
      { ...nothing, otherUses: [expect.stringContaining('services.web.volumes.0.source')] },
    ],
  ])('evaluates a mounted image that changes with the version: a mount %s', (_, name, mounted, expected) => {
    const at = (to: string) => {
      const { app } = v(to);
      const own = JSON.parse(JSON.stringify(mounted).replace('v1.0.0', to));
      return model(name === 'app' ? { app: { ...app, ...own } } : { app, web: { image: 'nginx:1', ...own } });
    };
    expect(compareComposeModels(at('v1.0.0'), at('v1.1.0'), plan('v1.1.0'))).toEqual(expected);
  });

  it('reports a volume whose name contains the version', () => {
    const before = model(v('v1.0.0'), { volumes: { data: { name: 'data-v1.0.0' } } });
    const after = model(v('v1.1.0'), { volumes: { data: { name: 'data-v1.1.0' } } });
    expect(compareComposeModels(before, after, plan('v1.1.0')).otherUses).toEqual([
      'volumes.data.name: "data-v1.0.0" → "data-v1.1.0"',
    ]);
  });

  it('accepts an inline config that contains the version, but no other change in it', () => {
    const configs = (content: string) =>
      model(v(content.slice(-6)), { configs: { about: { name: 'about', content } } });
    const after = configs('this is v1.1.0');
    expect(compareComposeModels(configs('this is v1.0.0'), after, plan('v1.1.0'))).toEqual(nothing);
    expect(compareComposeModels(configs('that is v1.0.0'), after, plan('v1.1.0')).unexpected).toHaveLength(1);
  });

  it('reports a config whose file name contains the version, because the config would be another file', () => {
    const configs = (to: string) =>
      model(v(to), { configs: { about: { name: 'about', file: `/srv/svc/${to}.ini` } } });
    expect(compareComposeModels(configs('v1.0.0'), configs('v1.1.0'), plan('v1.1.0'))).toEqual({
      ...nothing,
      otherUses: ['configs.about.file: "/srv/svc/v1.0.0.ini" → "/srv/svc/v1.1.0.ini"'],
    });
  });

  it('accepts changes from a variable that was not set before, but no other change that contains its value', () => {
    const says = (image: string, a: string) => model({ app: { image, labels: { a } } });
    const set = (from: string, to: string) =>
      compareComposeModels(says('svc:latest', from), says('svc:v1.1.0', to), {
        images: new Map([['app', 'svc:v1.1.0']]),
        substitutions: [{ from: '', to: 'v1.1.0' }],
        variableLocations: [],
        hasSharedPin: () => false,
      });
    expect(set('is ', 'is v1.1.0')).toEqual(nothing);
    expect(set('was ', 'is v1.1.0').unexpected).toEqual(['services.app.labels.a: "was " → "is v1.1.0"']);
  });

  it('accepts an extension that contains the image, but no other change in extensions', () => {
    const held = (image: string) => ({ ...moved, app: { image }, worker: { image } });
    const before = model(held('svc:v1.0.0'), { 'x-app': { image: 'svc:v1.0.0' }, 'x-b': 'svc:v1.0.0' });
    const after = model(held('svc:v1.1.0'), { 'x-app': { image: 'svc:v1.1.0' }, 'x-b': 'svc:v1.0.0-x' });
    expect(compareComposeModels(before, after, planned)).toEqual({
      ...nothing,
      unexpected: ['x-b: "svc:v1.0.0" → "svc:v1.0.0-x"'],
    });
  });
});

describe('substitutionsOf', () => {
  const path = '/srv/svc/.env';
  const text = 'services: {app: {image: "svc:${V:-latest}", labels: {a: "${V-none}", b: "${W:-x}"}}}';
  const files = {
    composeFiles: [{ path: '/srv/svc/compose.yaml', text }],
    envFiles: [{ path, text: 'V=v1\n' }],
    newEnvFile: path,
  };
  const edit = { file: path, line: 1, variable: 'V' };

  it('returns the old and the new value of a variable', () => {
    const edits = [{ ...edit, start: 2, end: 4, before: 'v1', after: 'v2' }];
    expect(listVariableSubstitutions(files, edits)).toEqual([{ from: 'v1', to: 'v2' }]);
    expect(
      listVariableSubstitutions(
        files,
        edits.map(({ variable, ...literal }) => literal),
      ),
    ).toEqual([]);
  });

  it.each([
    ['appended', { ...edit, start: 5, end: 5, before: '', after: 'V=canary\n' }],
    ['empty until now', { ...edit, start: 2, end: 2, before: '', after: 'canary' }],
  ])('returns the defaults that no longer apply: %s', (_, given) => {
    expect(listVariableSubstitutions(files, [given])).toEqual([
      { from: '', to: 'canary' },
      { from: 'latest', to: 'canary' },
      { from: 'none', to: 'canary' },
    ]);
  });
});
