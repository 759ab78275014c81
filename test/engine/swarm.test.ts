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

  it.each<[what: string, raw: Json, is: Json]>([
    [
      'whole',
      {
        ID: 'a',
        Version: { Index: 7 },
        Spec: spec,
        PreviousSpec: { Name: 'old' },
        UpdateStatus: { State: 'paused' },
      },
      {
        id: 'a',
        name: 'svc_app',
        stack: 'svc',
        version: 7,
        spec,
        previous: { Name: 'old' },
        updateState: 'paused',
      },
    ],
    [
      'new',
      { ID: 'a', Version: { Index: 7 }, Spec: spec },
      { id: 'a', name: 'svc_app', stack: 'svc', version: 7, spec, previous: null, updateState: '' },
    ],
    [
      'of no stack',
      { ID: 'a', Version: { Index: 7 }, Spec: { Name: 'x', Labels: null } },
      {
        id: 'a',
        name: 'x',
        stack: null,
        version: 7,
        spec: { Name: 'x', Labels: null },
        previous: null,
        updateState: '',
      },
    ],
  ])('a service, %s', (_, raw, is) => expect(readService(raw)).toEqual(is));

  it.each<[what: string, raw: Json, is: Json]>([
    [
      'that failed',
      {
        ID: 't',
        ServiceID: 'a',
        Slot: 2,
        NodeID: 'n',
        DesiredState: 'shutdown',
        Status: { State: 'failed', Err: 'task: non-zero exit (1)' },
        Spec: spec.TaskTemplate,
      },
      {
        id: 't',
        service: 'a',
        slot: 2,
        node: 'n',
        state: 'failed',
        wanted: 'shutdown',
        image: 'acme/svc:v1@sha256:a',
        error: 'task: non-zero exit (1)',
      },
    ],
    [
      'of a global service that has no node yet',
      { ID: 't', ServiceID: 'a', DesiredState: 'running', Status: { State: 'new' } },
      { id: 't', service: 'a', slot: 0, node: '', state: 'new', wanted: 'running', image: '', error: '' },
    ],
  ])('a task %s', (_, raw, is) => expect(readTask(raw)).toEqual(is));

  it.each<[what: string, raw: Json, is: Json]>([
    [
      'whole',
      {
        ID: 'n',
        Spec: { Role: 'manager', Availability: 'drain', Labels: { disk: 'ssd' } },
        Description: {
          Hostname: 'h',
          Platform: { OS: 'linux', Architecture: 'x86_64' },
          Engine: { Labels: { os: 'debian' } },
        },
        Status: { State: 'down' },
      },
      {
        id: 'n',
        name: 'h',
        state: 'down',
        availability: 'drain',
        role: 'manager',
        os: 'linux',
        arch: 'x86_64',
        labels: { disk: 'ssd' },
        engineLabels: { os: 'debian' },
      },
    ],
    [
      'that has never been heard of',
      {
        ID: 'n',
        Spec: { Role: 'worker', Availability: 'active', Labels: null },
        Status: { State: 'unknown' },
      },
      {
        id: 'n',
        name: '',
        state: 'unknown',
        availability: 'active',
        role: 'worker',
        os: '',
        arch: '',
        labels: {},
        engineLabels: {},
      },
    ],
  ])('a node %s', (_, raw, is) => expect(readNode(raw)).toEqual(is));

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
