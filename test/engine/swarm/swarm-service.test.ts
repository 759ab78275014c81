import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/engine/objects/json.ts';
import {
  isJob,
  mapJsonList,
  placementConstraintsOf,
  replicaCountOf,
  serviceImageOf,
  serviceLabelsOf,
  toSwarmService,
  toSwarmTask,
} from '../../../src/engine/swarm/swarm-service.ts';

describe('a response of the Swarm API', () => {
  const spec = {
    Name: 'svc_app',
    Labels: { 'com.docker.stack.namespace': 'svc', n: 1 },
    TaskTemplate: { ContainerSpec: { Image: 'acme/svc:v1@sha256:a' } },
  };

  it('is parsed as a service', () => {
    const raw = { ID: 'a', Version: { Index: 7 }, Spec: spec };
    const is = { id: 'a', name: 'svc_app', stack: 'svc', version: 7, spec };
    expect(toSwarmService(raw)).toEqual({ ...is, previousSpec: null, updateState: '' });
    const moved = { ...raw, PreviousSpec: { Name: 'old' }, UpdateStatus: { State: 'paused' } };
    expect(toSwarmService(moved)).toEqual({ ...is, previousSpec: { Name: 'old' }, updateState: 'paused' });
    expect(toSwarmService({ ...raw, Spec: { Name: 'x', Labels: null } }).stack).toBeNull();
  });

  it.each<[mode: Json, replicas: number | null, job: boolean]>([
    [{ Replicated: { Replicas: 3 } }, 3, false],
    [{ Replicated: { Replicas: 0 } }, 0, false],
    [{ Replicated: {} }, 1, false],
    [{ Global: {} }, null, false],
    [{ ReplicatedJob: { MaxConcurrent: 1 } }, null, true],
    [{ GlobalJob: {} }, null, true],
  ])('with mode %j is parsed as: %j replicas, job %s', (Mode, replicas, job) => {
    expect([replicaCountOf({ Mode }), isJob({ Mode })]).toEqual([replicas, job]);
  });

  it('may have no optional fields', () => {
    expect([
      serviceImageOf({}),
      serviceLabelsOf({}),
      placementConstraintsOf({}),
      mapJsonList(null, toSwarmTask),
    ]).toEqual(['', {}, [], []]);
    expect(placementConstraintsOf({ TaskTemplate: { Placement: { Constraints: ['a==b'] } } })).toEqual([
      'a==b',
    ]);
    expect(serviceLabelsOf(spec)).toEqual({ 'com.docker.stack.namespace': 'svc', n: '1' });
  });
});
