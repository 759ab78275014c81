import { describe, expect, it } from 'vitest';
import type { ComposeModel, ComposeService } from '../../../../../src/engine/cli/compose.ts';
import { checkReleaseDefinitions } from '../../../../../src/updater/compose/plan/files/check-release-definitions.ts';
import { container } from '../../../../build.ts';
import { composeText, installed, planTo, projectFiles } from '../../../../build-plan.ts';

const files = projectFiles({
  'compose.yaml': composeText({ app: `svc:\${SVC_VERSION}` }),
  '.env': 'SVC_VERSION=v1.0.0\n',
});

interface Changes extends Partial<Omit<ComposeModel, 'services'>> {
  services?: Record<string, Partial<ComposeService> | null>;
}

/** An app and a db on one network, a proxy and the db on another; null removes a service. */
function model(tag: string, { services = {}, ...rest }: Changes = {}): ComposeModel {
  const base: ComposeModel['services'] = {
    app: {
      image: `svc:${tag}`,
      networks: { inner: null },
      volumes: [{ type: 'volume', source: 'files', target: '/f' }],
    },
    db: { image: 'db:1', networks: { inner: null, outer: null } },
    proxy: { image: 'proxy:1', networks: { outer: null } },
    idle: { image: 'idle:1' },
  };
  const merged = Object.entries({ ...base, ...services }).flatMap(([name, service]) =>
    service === null ? [] : [[name, { ...base[name], ...service }] as const],
  );
  return {
    name: 'svc',
    services: Object.fromEntries(merged),
    networks: { inner: { name: 'svc_inner' }, outer: { name: 'svc_outer' } },
    volumes: { files: { name: 'svc_files' }, dumps: { name: 'svc_dumps' } },
    ...rest,
  };
}

const containers = {
  app: container('app-1', { networks: ['svc_inner'] }),
  db: container('db-1', { networks: ['svc_inner', 'svc_outer'] }),
  proxy: container('proxy-1', { networks: ['svc_outer'] }),
};

function check(changes: Changes, hashed: readonly string[] = []): string[] {
  const install = installed(files, {
    model: model('v1.0.0'),
    kind: 'generated',
    services: { app: [containers.app] },
    containers: Object.values(containers),
  });
  const expected = {
    images: new Map([['app', 'svc:v1.1.0']]),
    substitutions: [],
    variableLocations: [],
    hasSharedPin: () => false,
  };
  const definitions = { model: model('v1.1.0', changes), hashedNetworks: new Set(hashed) };
  return checkReleaseDefinitions(install, definitions, expected, [planTo('v1.1.0', install).app]);
}

const networks = (inner: object, outer: object = { name: 'svc_outer' }): Changes => ({
  networks: { inner: { name: 'svc_inner', ...inner }, outer },
});
const volumes = (name: object): Changes => ({
  volumes: { files: { name: 'svc_files', ...name }, dumps: { name: 'svc_dumps' } },
});
const internal = { internal: true };

describe('checkGenerated', () => {
  it.each<[string, Changes, string[], RegExp]>([
    [
      'a network of the app that carries the hash',
      networks(internal),
      ['svc_inner'],
      /definition of network inner, which is in use/,
    ],
    [
      'a network that the app is new in and that carries the hash',
      {
        ...networks({}, { name: 'svc_outer', ...internal }),
        services: { app: { networks: { inner: null, outer: null } } },
      },
      ['svc_outer'],
      /definition of network outer/,
    ],
    [
      'the network that the app shares with the db',
      {
        networks: { inner: { name: 'svc_inner' }, fresh: { name: 'svc_fresh' } },
        services: { app: { networks: { fresh: null } } },
      },
      [],
      /removes app from the network that it shares with db/,
    ],
  ])('refuses changes of %s', (_, changes, hashed, message) => {
    expect(() => check(changes, hashed)).toThrow(
      expect.objectContaining({ code: 'shared-definition', message: expect.stringMatching(message) }),
    );
  });

  it.each<[string, Changes, string[], (string | RegExp)[]]>([
    [
      'a network of the app that an older compose made',
      networks(internal),
      [],
      ['the release changes the definition of network inner, but the update will not recreate the network'],
    ],
    [
      'a volume of the app',
      volumes({ driver_opts: { type: 'tmpfs' } }),
      [],
      [/definition of volume files.* asks whether to recreate it, answer N: recreating it deletes its data/],
    ],
    ['a network to one that is made elsewhere', networks({ external: true, ...internal }), ['svc_inner'], []],
    [
      'that a service is no longer there',
      { services: { proxy: null } },
      [],
      [
        "the release's compose file no longer contains proxy; the containers of this service will not be changed",
      ],
    ],
  ])('allows changes of %s', (_, changes, hashed, warnings) => {
    expect(check(changes, hashed)).toEqual(
      warnings.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text))),
    );
  });
});
