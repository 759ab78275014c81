import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { SwarmNode, SwarmService, SwarmTask } from '../../../../src/engine/swarm/swarm-service.ts';
import {
  chooseStack,
  listEligibleNodes,
  listStacksWithApp,
  requireUpdatableServices,
  stackFileImageOf,
} from '../../../../src/updater/swarm/services/choose-stack.ts';
import { buildServiceSpec, mutableSpecValuesOf } from '../../../../src/updater/swarm/services/specs.ts';
import { updateOptions } from '../../../build-plan.ts';
import { moveOf, nodes, nodeWith, serviceWith, specWith, tasksOf, whole } from '../../../build-stack.ts';

type Parts = NonNullable<Parameters<typeof specWith>[0]>;

/** A service whose name starts with its stack: `svc_app` belongs to the stack `svc`. */
const service = (name: string, parts: Parts = {}): SwarmService =>
  serviceWith(specWith({ name, ...parts }), { stack: name.replace(/_[^_]*$/, ''), id: `${name}-id` });

const database = service('svc_db', { image: 'postgres:16' });
const usual = [service('svc_app'), service('svc_worker'), database];

const refused = (decide: () => string): string => {
  try {
    return decide();
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    return `${error.code}: ${error.message}`;
  }
};

describe('chooseStack', () => {
  const chosen = (services: readonly SwarmService[], ...argv: string[]): string =>
    refused(() => {
      const { name, app, workers } = chooseStack(services, updateOptions('update', ...argv));
      return `${name}: ${[app, ...workers].map((each) => each.name).join(' ')}`;
    });
  const worker = { labels: { 'svc.role': 'worker' } };
  const own = { image: 'acme/job:v1@sha256:d' };

  it.each<[situation: string, services: SwarmService[], argv: string[], said: string]>([
    ['app and worker', usual, [], 'svc: svc_app svc_worker'],
    ['one of two', [...usual, service('two_app')], ['--stack', 'two'], 'two: two_app'],
    [
      'by the label of services',
      [service('svc_app'), service('svc_mail', { ...worker, ...own }), service('svc_worker', own)],
      [],
      'svc: svc_app svc_mail',
    ],
    [
      'by name',
      [...usual, service('svc_mail')],
      ['--service', 'app', '--service', 'worker', '--service', 'mail'],
      'svc: svc_app svc_worker svc_mail',
    ],
    [
      'what stays behind is named',
      [...usual, service('svc_mail')],
      ['--exclude', 'mail'],
      'svc: svc_app svc_worker',
    ],
    ['no stack', [database], [], 'no-app: no stack in this Swarm has a service named app'],
    ['two', [...usual, service('two_app')], [], 'several-projects: several stacks match: svc, two'],
    [
      'a worker that is not there',
      usual,
      ['--service', 'app', '--service', 'mail'],
      'no-app: stack svc has no service svc_mail',
    ],
    [
      'what would stay behind',
      [...usual, service('svc_mail')],
      [],
      'unlisted-services: these services use the same image as app but are not selected for the update: mail',
    ],
  ])('selects services, or fails: %s', (_, services, argv, said) =>
    expect(chosen(services, ...argv)).toBe(said),
  );

  it('finds the stacks that have a service named app', () => {
    expect(listStacksWithApp([...usual, service('two_app'), database], 'app')).toEqual(['svc', 'two']);
    // Services with such a name that belong to no stack, or to another stack.
    expect(listStacksWithApp([{ ...service('svc_app'), stack: null }], 'app')).toEqual([]);
    expect(listStacksWithApp([{ ...service('svc_app'), stack: 'other' }], 'app')).toEqual([]);
  });
});

describe('checkServices', () => {
  interface Given {
    app?: Parts;
    updateState?: string;
    tasks?: readonly SwarmTask[];
    nodes?: readonly SwarmNode[];
    isOurs?: boolean;
  }
  const check = ({
    app = {},
    updateState = '',
    tasks = [],
    nodes: there = nodes('n1'),
    isOurs = false,
  }: Given): string =>
    refused(() => {
      const found = { ...service('svc_app', app), id: 'app-id', updateState };
      requireUpdatableServices(
        { name: 'svc', app: found, workers: [], services: [found] },
        { tasks, nodes: there },
        { isOurs },
      );
      return 'fit';
    });
  const old = tasksOf('old running');
  const down = [nodeWith('n1', { state: 'down' })];
  const paused = [nodeWith('n1', { availability: 'pause' })];
  const global = { replicas: null };

  it.each<[situation: string, given: Given, said: string]>([
    ['all is quiet', { tasks: old }, 'fit'],
    [
      'it is being updated',
      { updateState: 'updating' },
      'stack-busy: another update of svc_app is in progress (updating)',
    ],
    [
      'it is being rolled back',
      { updateState: 'rollback_started' },
      'stack-busy: another update of svc_app is in progress (rollback_started)',
    ],
    ['by the run before', { updateState: 'updating', isOurs: true }, 'fit'],
    [
      'a task on a node that is down',
      { tasks: old, nodes: down },
      'stack-busy: svc_app has a task on node host-n1, which is down: the task may still be running',
    ],
    ['the same, for a run that goes on', { tasks: old, nodes: down, isOurs: true }, 'fit'],
    ['on a paused node', { tasks: old, nodes: paused }, 'fit'],
    [
      'on a paused node, of a global service',
      { app: global, tasks: old, nodes: paused },
      'stack-busy: svc_app is global and has a task on node host-n1, which is paused: Swarm would not replace this task',
    ],
  ])('accepts or rejects the services: %s', (_, given, said) => expect(check(given)).toBe(said));

  it('rejects a job', () => {
    const job = { ...service('svc_app'), spec: { ...specWith(), Mode: { ReplicatedJob: {} } } };
    const said = refused(() => {
      requireUpdatableServices(
        { name: 'svc', app: job, workers: [], services: [job] },
        { tasks: [], nodes: [] },
      );
      return 'fit';
    });
    expect(said).toBe('stack-unsupported: svc_app is a job, and jobs cannot be updated');
  });
});

describe('the selected stack', () => {
  it('can use the nodes allowed by the constraints of its services', () => {
    const there = [
      nodeWith('n1', { labels: { a: '1' } }),
      nodeWith('n2', { labels: { a: '2' } }),
      nodeWith('n3'),
    ];
    const app = service('svc_app', { constraints: ['node.labels.a==1'] });
    const workers = [service('svc_worker', { constraints: ['node.labels.a==2'] })];
    expect(listEligibleNodes({ app, workers }, there).map(({ id }) => id)).toEqual(['n1', 'n2']);
  });

  it('can use the nodes of a global service that the previous run stopped', () => {
    const move = moveOf('app', { before: specWith({ replicas: null }) });
    const app = serviceWith(buildServiceSpec(move, 'stopped', mutableSpecValuesOf(move.before)));
    expect(listEligibleNodes({ app, workers: [] }, nodes('n1', 'n2'))).toHaveLength(2);
  });

  it.each<[Parts, string]>([
    [{ image: 'acme/svc:v1@sha256:a', label: 'acme/svc:v1@sha256:a' }, 'acme/svc:v1@sha256:a'],
    [{ image: 'acme/svc:v1@sha256:a', label: null }, 'acme/svc:v1'],
  ])('has the image of the stack file: for %j, %s', (parts, text) =>
    expect(stackFileImageOf(service('svc_app', parts))).toBe(whole(text)),
  );
});
