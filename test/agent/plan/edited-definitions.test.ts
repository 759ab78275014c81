import { describe, expect, it } from 'vitest';
import { findEdited, usedDefinitions } from '../../../src/agent/plan/edited-definitions.ts';
import type { Model, ModelService } from '../../../src/engine/cli/compose.ts';
import { networkHash, volumeHash } from '../../../src/engine/definition-hash.ts';

const internal = { name: 'svc_internal', labels: { a: 'b' } };
const db = { name: 'svc_db' };

function model(app: ModelService): Model {
  return {
    name: 'svc',
    services: { app, worker: { networks: { internal: null } }, db: { networks: { back: null } } },
    networks: {
      default: { name: 'svc_default' },
      internal,
      back: { name: 'svc_back' },
      outside: { name: 'outside', external: true },
    },
    volumes: { db, shared: { name: 'shared', external: true } },
  };
}

describe('usedDefinitions', () => {
  it.each<[why: string, app: ModelService, networks: string[], volumes: string[]]>([
    ['of the services asked about alone', { networks: { internal: null } }, ['svc_internal'], []],
    ['the default one', {}, ['svc_default', 'svc_internal'], []],
    ['none in a namespace of another', { network_mode: 'service:db' }, ['svc_internal'], []],
    ['no external one', { networks: { outside: null, internal: null } }, ['svc_internal'], []],
    [
      'volumes by their keys, no binds',
      {
        networks: { internal: null },
        volumes: [
          { type: 'volume', source: 'db', target: '/db' },
          { type: 'volume', source: 'shared', target: '/shared' },
          { type: 'volume', target: '/anonymous' },
          { type: 'bind', source: 'db', target: '/x' },
        ],
      },
      ['svc_internal'],
      ['svc_db'],
    ],
  ])('%s', (_, app, networks, volumes) => {
    const used = usedDefinitions(model(app), ['app', 'worker']);
    expect(used.networks.map(({ name }) => name)).toEqual(networks);
    expect(used.volumes.map(({ name }) => name)).toEqual(volumes);
  });

  it('has the hash that compose gives each, and who uses it', () => {
    const volumes = [{ type: 'volume', source: 'db', target: '/db' }];
    expect(usedDefinitions(model({ networks: { internal: null }, volumes }), ['app', 'worker'])).toEqual({
      networks: [{ name: 'svc_internal', hash: networkHash(internal), services: ['app', 'worker'] }],
      volumes: [{ name: 'svc_db', hash: volumeHash(db), services: ['app'] }],
    });
  });
});

describe('findEdited', () => {
  const used = [{ name: 'n', hash: 'today', services: ['app'] }];
  it.each<[why: string, made: { name: string; hash: string | null }[], edited: string[]]>([
    ['edited since', [{ name: 'n', hash: 'before' }], ['n']],
    ['as it was made', [{ name: 'n', hash: 'today' }], []],
    ['made by a compose that leaves no hash', [{ name: 'n', hash: null }], []],
    ['not there', [{ name: 'other', hash: 'before' }], []],
    [
      'two of one name',
      [
        { name: 'n', hash: 'before' },
        { name: 'n', hash: 'before' },
      ],
      [],
    ],
  ])('%s', (_, made, edited) => {
    expect(findEdited(used, made).map(({ name }) => name)).toEqual(edited);
  });
});
