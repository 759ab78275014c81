import { describe, expect, it } from 'vitest';
import type { SwarmNode } from '../../../../src/engine/swarm/swarm-service.ts';
import { planPullServices, summarizePullState } from '../../../../src/updater/swarm/pull/pull-services.ts';
import { moveOf, newImage, nodes, nodeWith, specWith, type TaskWord, tasksOf } from '../../../build-stack.ts';

const run = '20261125T093536Z';
const worker = (parts: Parameters<typeof specWith>[0]) =>
  moveOf('worker', { before: specWith({ name: 'svc_worker', ...parts }) });

describe('createPullServices', () => {
  it('runs no program of the image', () => {
    expect(planPullServices(run, 'svc', [moveOf('app'), moveOf('worker')], nodes('n1'))).toEqual([
      {
        name: 'svc-updater-pull-20261125t093536z-svc',
        image: newImage,
        nodes: nodes('n1'),
        spec: {
          Name: 'svc-updater-pull-20261125t093536z-svc',
          Labels: { 'svc-updater.pull': 'svc' },
          TaskTemplate: {
            ContainerSpec: {
              Image: newImage,
              Command: ['/sbin/docker-init', '--version'],
              Init: true,
              Healthcheck: { Test: ['NONE'] },
            },
            RestartPolicy: { Condition: 'none' },
            Placement: {},
          },
          Mode: { Global: {} },
        },
      },
    ]);
  });

  const limited = { constraints: ['node.labels.disk==ssd'] };
  it.each<[what: string, moves: Parameters<typeof planPullServices>[2], pulls: string[]]>([
    ['one image, one choice of nodes', [moveOf('app'), worker({})], ['svc:v1.5.0 on n1 n2']],
    ['a worker at 0 may be scaled up', [worker({ replicas: 0 })], ['svc:v1.5.0 on n1 n2']],
    ['another choice', [moveOf('app'), worker(limited)], ['svc:v1.5.0 on n1 n2', 'svc:v1.5.0 on n2']],
    [
      'a global service that a run before has stopped',
      [
        moveOf('worker', {
          before: specWith({ replicas: null, constraints: ['node.id==nobody'] }),
          wanted: specWith({ replicas: null }),
        }),
      ],
      ['svc:v1.5.0 on n1 n2'],
    ],
  ])('creates a pull service for each image and set of nodes: %s', (_, moves, pulls) => {
    const there = [
      ...[nodeWith('n1'), nodeWith('n2', { labels: { disk: 'ssd' } })],
      ...[
        nodeWith('n3', { state: 'down' }),
        nodeWith('n4', { availability: 'drain' }),
        nodeWith('n5', { availability: 'pause' }),
      ],
    ];
    const made = planPullServices(run, 'svc', moves, there);
    expect(
      made.map(
        ({ image, nodes: on }) =>
          `${image.replace(/^acme\/|@.*$/g, '')} on ${on.map(({ id }) => id).join(' ')}`,
      ),
    ).toEqual(pulls);
    expect(new Set(made.map(({ name }) => name)).size).toBe(made.length);
  });

  it('creates a valid Swarm name for every stack name', () => {
    const moves = [moveOf('app'), worker(limited)];
    for (const stack of ['s', 'My_Stack', 'a'.repeat(63), `${'a'.repeat(23)}_b`, `${'a'.repeat(20)}--__b`]) {
      for (const { name } of planPullServices(run, stack, moves, []))
        expect(name).toMatch(/^(?=.{1,63}$)[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$/);
    }
  });
});

describe('summarizePullState', () => {
  const [service] = planPullServices(run, 'svc', [moveOf('app')], nodes('n1'));
  const state = (word: TaskWord | null, now: SwarmNode[] = nodes('n1')): string => {
    if (!service) throw new Error('there is none');
    const { done, failed, waiting } = summarizePullState(service, word === null ? [] : tasksOf(word), now);
    return [
      ...done.map((name) => `${name} has it`),
      ...failed.map(({ node, error }) => `${node} failed: ${error}`),
      ...waiting.map(({ node, state: is }) => `${node} is ${is}`),
    ].join('; ');
  };
  it.each<[word: TaskWord | null, now: SwarmNode[] | undefined, said: string]>([
    [null, undefined, 'host-n1 is new'],
    ['new complete', undefined, 'host-n1 has it'],
    [['new failed', { error: 'starting container failed: error mounting' }], undefined, 'host-n1 has it'],
    [
      ['new failed', { error: 'task: non-zero exit (1)' }],
      undefined,
      'host-n1 failed: task: non-zero exit (1)',
    ],
    [['new rejected', { error: 'No such image: x' }], undefined, 'host-n1 failed: No such image: x'],
    ['new preparing', [nodeWith('n1', { state: 'down' })], 'host-n1 failed: the node went down'],
    ['new preparing', [nodeWith('n1', { state: 'unknown' })], 'host-n1 is preparing'],
  ])('summarizes the task %j on the nodes %j: %s', (word, now, said) => expect(state(word, now)).toBe(said));

  it.each<TaskWord | null>(['new shutdown', null])(
    'does not wait for a node that was drained in the meantime (%j)',
    (word) => {
      expect(state(word, [nodeWith('n1', { availability: 'drain' })])).not.toMatch(/ is /);
    },
  );
});
