import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/engine/json.ts';
import {
  constraintsOf,
  imageOf,
  isJob,
  labelsOf,
  readAll,
  readConfig,
  readNode,
  readService,
  readTask,
  replicasOf,
} from '../../src/engine/swarm.ts';

describe('what the API tells of a Swarm', () => {
  const spec = {
    Name: 'svc_app',
    Labels: { 'com.docker.stack.namespace': 'svc', n: 1 },
    TaskTemplate: { ContainerSpec: { Image: 'acme/svc:v1@sha256:a' } },
  };

  it('a service', () => {
    const raw = { ID: 'a', Version: { Index: 7 }, Spec: spec };
    const is = { id: 'a', name: 'svc_app', stack: 'svc', version: 7, spec };
    expect(readService(raw)).toEqual({ ...is, previous: null, updateState: '' });
    const moved = { ...raw, PreviousSpec: { Name: 'old' }, UpdateStatus: { State: 'paused' } };
    expect(readService(moved)).toEqual({ ...is, previous: { Name: 'old' }, updateState: 'paused' });
    expect(readService({ ...raw, Spec: { Name: 'x', Labels: null } }).stack).toBeNull();
  });

  it('a task', () => {
    const raw = {
      ...{ ID: 't', ServiceID: 'a', Slot: 2, NodeID: 'n', DesiredState: 'shutdown' },
      Status: { State: 'failed', Err: 'task: non-zero exit (1)' },
      Spec: spec.TaskTemplate,
    };
    expect(readTask(raw)).toEqual({
      ...{ id: 't', service: 'a', slot: 2, node: 'n', state: 'failed', wanted: 'shutdown' },
      ...{ image: 'acme/svc:v1@sha256:a', error: 'task: non-zero exit (1)' },
    });
  });

  it('a node', () => {
    const raw = {
      ID: 'n',
      Spec: { Role: 'manager', Availability: 'drain', Labels: { disk: 'ssd' } },
      Description: {
        Hostname: 'h',
        Platform: { OS: 'linux', Architecture: 'x86_64' },
        Engine: { Labels: { os: 'debian' } },
      },
      Status: { State: 'down' },
    };
    expect(readNode(raw)).toEqual({
      ...{ id: 'n', name: 'h', state: 'down', availability: 'drain', role: 'manager' },
      ...{ os: 'linux', arch: 'x86_64' },
      ...{ labels: { disk: 'ssd' }, engineLabels: { os: 'debian' } },
    });
  });

  it('a config, with its data as they were written', () => {
    const Data = Buffer.from('{"a":"ä"}').toString('base64');
    expect(
      readConfig({ ID: 'c', Version: { Index: 3 }, Spec: { Name: 'x', Labels: { a: 'b' }, Data } }),
    ).toEqual({
      ...{ id: 'c', name: 'x', version: 3, labels: { a: 'b' }, data: '{"a":"ä"}' },
    });
  });

  it.each<[mode: Json, replicas: number | null, job: boolean]>([
    [{ Replicated: { Replicas: 3 } }, 3, false],
    [{ Replicated: { Replicas: 0 } }, 0, false],
    [{ Replicated: {} }, 1, false],
    [{ Global: {} }, null, false],
    [{ ReplicatedJob: { MaxConcurrent: 1 } }, null, true],
    [{ GlobalJob: {} }, null, true],
  ])('mode %j: %j replicas, job %s', (Mode, replicas, job) => {
    expect([replicasOf({ Mode }), isJob({ Mode })]).toEqual([replicas, job]);
  });

  it('nothing where there is nothing', () => {
    expect([imageOf({}), labelsOf({}), constraintsOf({}), readAll(null, readTask)]).toEqual(['', {}, [], []]);
    expect(constraintsOf({ TaskTemplate: { Placement: { Constraints: ['a==b'] } } })).toEqual(['a==b']);
    expect(labelsOf(spec)).toEqual({ 'com.docker.stack.namespace': 'svc', n: '1' });
  });
});
