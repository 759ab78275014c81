import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/engine/objects/json.ts';
import type { SwarmNode } from '../../../../src/engine/swarm/swarm-service.ts';
import {
  buildServiceSpec,
  classifySpecImage,
  describeOverriddenUpdateConfig,
  hasOverlappingTasks,
  isActiveNode,
  isEligibleNode,
  isEquivalentJson,
  isLimitedToOneTaskPerNode,
  isStoppedSpec,
  type MutableSpecValues,
  mutableSpecValuesOf,
  type SpecForm,
  type StackServiceUpdate,
} from '../../../../src/updater/swarm/services/specs.ts';
import { moveOf, newImage, nodeWith, oldImage, specWith } from '../../../build-stack.ts';

const rollback = { FailureAction: 'rollback', Order: 'stop-first', Parallelism: 1 };
const startFirst = { FailureAction: 'pause', Order: 'start-first' };
const hostPort = [{ PublishMode: 'host', PublishedPort: 80 }];
const amounts = (changes: Partial<MutableSpecValues> = {}): MutableSpecValues => ({
  replicas: 2,
  forced: 0,
  held: 2,
  nodesWithout: [],
  ...changes,
});

type Parts = NonNullable<Parameters<typeof specWith>[0]>;
const newParts: Parts = { image: newImage };

describe('specOf', () => {
  /** Changes of a found spec in each form; all other fields are unchanged. */
  it.each<[what: string, form: SpecForm, found: Parts, changes: Partial<MutableSpecValues>, becomes: Parts]>([
    ['as it was', 'before', {}, {}, {}],
    ['the new image and its label', 'after', {}, {}, newParts],
    ['no label where there was none', 'after', { label: null }, {}, { ...newParts, label: null }],
    ["the owner's update_config", 'after', { update: rollback }, {}, { ...newParts, update: rollback }],
    [
      'a global service',
      'after',
      { replicas: null },
      { replicas: null, forced: 3 },
      { ...newParts, replicas: null, forced: 3 },
    ],
    [
      'no rollback',
      'moving',
      { update: rollback },
      {},
      { ...newParts, update: { ...rollback, FailureAction: 'pause' } },
    ],
    [
      'a label more, for an instant',
      'nudged',
      { update: rollback },
      {},
      {
        ...newParts,
        update: { ...rollback, FailureAction: 'pause' },
        labels: { 'svc-updater.nudge': '1' },
      },
    ],
    [
      'not beside a port of the host',
      'moving',
      { update: startFirst, ports: hostPort },
      {},
      { ...newParts, ports: hostPort, update: { ...startFirst, Order: 'stop-first' } },
    ],
    [
      'none',
      'stopped',
      { update: rollback },
      {},
      { replicas: 0, update: { ...rollback, FailureAction: 'pause' } },
    ],
    [
      'none on any node',
      'stopped',
      { replicas: null, constraints: ['node.labels.a==b'] },
      { replicas: null },
      { replicas: null, constraints: ['node.labels.a==b', 'node.id==nobody'] },
    ],
    [
      'so many as old ones run',
      'held',
      { update: rollback },
      { held: 1 },
      { replicas: 1, update: { ...rollback, FailureAction: 'pause' } },
    ],
    [
      'on the nodes with one',
      'held',
      { replicas: null },
      { replicas: null, nodesWithout: ['n2', 'n3'] },
      { replicas: null, constraints: ['node.id!=n2', 'node.id!=n3'] },
    ],
  ])('changes a spec: %s (form %s)', (_, form, found, changes, becomes) => {
    const of = (parts: Parts) => ({ ...specWith(parts) });
    const label = becomes.image === undefined || becomes.label === null ? {} : { label: 'acme/svc:v1.5.0' };
    const made = buildServiceSpec(moveOf('app', { before: of(found) }), form, amounts(changes));
    expect(isEquivalentJson(made, of({ ...becomes, ...label }))).toBe(true);
    expect(JSON.parse(JSON.stringify(made))).toMatchObject(of({ ...becomes, ...label }));
  });

  it.each<[had: Json[], told: Json[], has: Json[]]>([
    [
      [{ OS: 'linux', Architecture: 'amd64' }],
      [{ OS: 'linux', Architecture: 'arm64' }],
      [{ OS: 'linux', Architecture: 'arm64' }],
    ],
    [[], [{ OS: 'linux', Architecture: 'arm64' }], []],
  ])('changes platforms %j, if the image has %j, to %j', (had, platforms, has) => {
    const move = moveOf('app', { before: specWith({ platforms: had }), platforms });
    const { TaskTemplate } = buildServiceSpec(move, 'after', amounts());
    expect(TaskTemplate).toMatchObject({ Placement: { Platforms: has } });
  });

  it('updates a service that the previous run stopped, or restores the definition that was found', () => {
    const move = moveOf('worker', { before: specWith({ replicas: 0 }), wanted: specWith({ replicas: 3 }) });
    const given = mutableSpecValuesOf(move.wanted);
    expect(buildServiceSpec(move, 'after', given)).toMatchObject({ Mode: { Replicated: { Replicas: 3 } } });
    expect(buildServiceSpec(move, 'before', given)).toMatchObject({ Mode: { Replicated: { Replicas: 0 } } });
  });

  it('does not modify its input', () => {
    const before = specWith({ update: rollback, ports: hostPort });
    const copy = structuredClone(before);
    const forms: SpecForm[] = ['before', 'after', 'moving', 'nudged', 'stopped', 'held'];
    for (const form of forms)
      buildServiceSpec(moveOf('app', { before }), form, amounts({ replicas: 7, forced: 9 }));
    expect(before).toEqual(copy);
  });
});

describe('imageSideOf', () => {
  const before = specWith({ update: rollback, constraints: ['node.role==worker'] });
  const move = moveOf('app', { before });
  const forms: [SpecForm, 'old' | 'new'][] = [
    ['before', 'old'],
    ['stopped', 'old'],
    ['held', 'old'],
    ['moving', 'new'],
    ['nudged', 'new'],
    ['after', 'new'],
  ];

  it.each(forms)('detects that the form %s is %s, for a replicated and a global service', (form, side) => {
    expect(classifySpecImage(move, buildServiceSpec(move, form, amounts()))).toBe(side);
    const global = moveOf('app', { before: specWith({ replicas: null, update: rollback }) });
    const given = amounts({ replicas: null, nodesWithout: ['n1'] });
    expect(classifySpecImage(global, buildServiceSpec(global, form, given))).toBe(side);
  });

  const template = (change: Json): Json => ({
    ...before,
    TaskTemplate: { ...(before.TaskTemplate as Json), ...change },
  });
  it.each<[edit: string, spec: Json, side: 'old' | 'new' | null]>([
    ['scaled', specWith({ update: rollback, constraints: ['node.role==worker'], replicas: 9 }), 'old'],
    [
      'another image',
      specWith({ update: rollback, constraints: ['node.role==worker'], image: 'acme/svc:v1.6.0@sha256:f' }),
      null,
    ],
    ['another environment', template({ ContainerSpec: { Image: oldImage, Env: ['DB=other'] } }), null],
    [
      'a constraint more',
      specWith({ update: rollback, constraints: ['node.role==worker', 'node.labels.a==b'] }),
      null,
    ],
    [
      'a limit for each node',
      specWith({ update: rollback, constraints: ['node.role==worker'], maxReplicas: 2 }),
      null,
    ],
  ])('detects the side of an edited spec: %s', (_, spec, side) =>
    expect(classifySpecImage(move, spec)).toBe(side),
  );

  it('recognizes the found definition and the definition that the owner wants', () => {
    const earlier: StackServiceUpdate = { ...move, wanted: specWith({ container: { Env: ['DB=new'] } }) };
    expect(classifySpecImage(earlier, before)).toBe('old');
    expect(classifySpecImage(earlier, buildServiceSpec(earlier, 'moving', amounts()))).toBe('new');
  });

  it('is "new" if both images are the same', () => {
    const same = moveOf('worker', { before: specWith({ image: newImage }) });
    expect(classifySpecImage(same, same.before)).toBe('new');
  });
});

describe('isStopped', () => {
  it.each<[Parts, boolean]>([
    [{ replicas: 0 }, true],
    [{ replicas: 1 }, false],
    [{ replicas: null, constraints: ['node.id==nobody'] }, true],
    [{ replicas: null, constraints: ['node.id!=n1'] }, false],
  ])('detects if %j is stopped: %s', (parts, stopped) =>
    expect(isStoppedSpec(specWith(parts))).toBe(stopped),
  );
});

describe('update settings of a service', () => {
  it.each<[Parts, boolean]>([
    [{}, false],
    [{ ports: hostPort }, true],
    [{ maxReplicas: 1 }, true],
  ])('takesOneTask %j: %s', (parts, one) => expect(isLimitedToOneTaskPerNode(specWith(parts))).toBe(one));

  it.each<[Parts, boolean]>([
    [{ replicas: 2 }, true],
    [{ replicas: 2, update: { Parallelism: 1 } }, true],
    [{ replicas: 9, update: { Parallelism: 0 } }, true],
    [{ replicas: 1, update: startFirst, ports: hostPort }, false],
    [{ replicas: null }, true],
    [{ replicas: 0 }, false],
  ])('isSideBySide %j: %s', (parts, together) => expect(hasOverlappingTasks(specWith(parts))).toBe(together));

  it.each<[Parts, string[]]>([
    [{}, []],
    [{ update: rollback }, ['failure_action will be "pause" instead of "rollback"']],
    [
      { update: { ...rollback, Order: 'start-first' }, maxReplicas: 1 },
      [
        'failure_action will be "pause" instead of "rollback"',
        'order will be "stop-first" instead of "start-first", because no node can run a second task',
      ],
    ],
  ])('findOverriddenSettings %j: %j', (parts, aside) =>
    expect(describeOverriddenUpdateConfig(specWith(parts))).toEqual(aside),
  );
});

describe('isDeepEqual', () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: null, c: undefined, d: [], e: {} }, { a: 1 }, true],
    [{ a: 0 }, {}, false],
    [{ a: [1, 2] }, { a: [2, 1] }, false],
  ])('compares %j with %j: %s', (a, b, same) => expect(isEquivalentJson(a, b)).toBe(same));
});

describe('isEligibleNode and isActive', () => {
  const node = nodeWith('n1', {
    name: 'host-a',
    labels: { disk: 'ssd', 'com.acme.zone': 'Eu' },
    engineLabels: { os: 'debian' },
  });
  it.each<[constraint: string, eligible: boolean]>([
    ['node.id==n1', true],
    ['node.hostname==host-a', true],
    ['node.role==worker', true],
    ['node.role==manager', false],
    ['node.labels.disk==ssd', true],
    ['node.labels.disk!=ssd', false],
    ['node.labels.com.acme.zone==eu', true],
    ['node.labels.none==x', false],
    ['engine.labels.os==debian', true],
    ['node.platform.os==linux', true],
    // Swarm compares the value that the node reports.
    ['node.platform.arch==x86_64', true],
    ['node.platform.arch==amd64', false],
    ['node.id==nobody', true],
    ['node.unheard-of==x', true],
  ])('evaluates the constraint %s: %s', (constraint, eligible) => {
    expect(isEligibleNode(specWith({ constraints: [constraint] }), node)).toBe(eligible);
  });

  it.each<[platforms: Json[], node: Partial<SwarmNode>, eligible: boolean]>([
    [[], { arch: 'riscv64' }, true],
    [[{ OS: 'linux', Architecture: 'arm64' }], { arch: 'aarch64' }, true],
    [[{ OS: 'linux', Architecture: 'amd64' }], { arch: 'aarch64' }, false],
    [[{ OS: 'windows', Architecture: 'amd64' }], {}, false],
    [
      [
        { OS: 'linux', Architecture: 'arm64' },
        { OS: 'linux', Architecture: 'amd64' },
      ],
      {},
      true,
    ],
  ])('evaluates the platforms %j on the node %j: %s', (platforms, changes, eligible) => {
    expect(isEligibleNode(specWith({ platforms }), nodeWith('n1', changes))).toBe(eligible);
  });

  it.each<[Partial<SwarmNode>, boolean]>([
    [{}, true],
    [{ state: 'down' }, false],
    [{ state: 'unknown' }, false],
    [{ availability: 'pause' }, false],
  ])('isActive %j: %s', (changes, active) => expect(isActiveNode(nodeWith('n1', changes))).toBe(active));
});
