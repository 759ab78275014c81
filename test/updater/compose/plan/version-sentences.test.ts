import { describe, expect, it } from 'vitest';
import { formatRunningVersion } from '../../../../src/updater/compose/inspect/log-installation.ts';
import {
  describeRunningServices,
  findVersionMismatchWarnings,
  newVersionNameOf,
  previousVersionNameOf,
} from '../../../../src/updater/compose/plan/version-sentences.ts';
import { composeText, imageOf, installed, planTo, preparedPlan } from '../../../build-plan.ts';

type Pins = readonly [app: string, ...workers: string[]];
const names = ['app', 'worker', 'mailer'];

/** A plan for services at these tags; each image is named after its service, and has a version label after the pull. */
function facts(pins: Pins, to: string | null, versions: readonly (string | undefined)[] = []) {
  const services = names.slice(0, pins.length);
  const pinned = Object.fromEntries(services.map((name, index) => [name, `acme/${name}:${pins[index]}`]));
  const from = installed(
    { 'compose.yaml': composeText(pinned) },
    { services: Object.fromEntries(services.map((name) => [name, []])) },
  );
  const plan = planTo(to, from);
  const images = new Map(
    plan.updates.map(({ to, service }, index) => [to, imageOf(service, versions[index])]),
  );
  return preparedPlan(plan, { version: versions[0] ?? null, images });
}

it.each<[string, string, string, string, string]>([
  ['a label that follows the releases', 'latest', '1.10.0', 'v1.9.1', 'latest (v1.10.0)'],
  ['an inherited label', 'latest', '1.9.1', 'latest', 'latest'],
  ['an inherited label beside a tag of its own', 'stable', '1.9.1', 'stable', 'stable'],
])('formats the previous and the new version with %s', (_, tag, label, from, reached) => {
  const plan = facts([tag], null, [label]);
  const installation = { ...plan.installation, prefix: 'v' as const, runningVersion: '1.9.1' };
  const updated = { ...plan, prefix: 'v' as const, installation, from: formatRunningVersion(installation) };
  expect([previousVersionNameOf(updated), newVersionNameOf(updated)]).toEqual([from, reached]);
});

describe('describeRunningServices', () => {
  it.each<[string, Pins, string | null, readonly (string | undefined)[], string]>([
    ['two of one release', ['v1.0.0', '1.0.0-alpine'], 'v1.1.0', [], 'app and worker run v1.1.0'],
    [
      'two versions',
      ['latest', 'latest'],
      null,
      ['1.1.0', '1.0.0'],
      'app runs latest (v1.1.0), worker runs latest (v1.0.0)',
    ],
    [
      'a version that nobody tells',
      ['v1.0.0', 'latest'],
      'v1.1.0',
      [undefined, undefined],
      'app runs v1.1.0, worker runs latest',
    ],
    ['the label of a base image', ['latest'], 'v1.1.0', ['0.9.1'], 'app runs latest'],
    [
      'what stays at a tag of its own',
      ['canary', 'edge', 'v1.0.0'],
      'v1.1.0',
      [undefined, '0.9.0'],
      'app and mailer run v1.1.0, worker runs edge (v0.9.0)',
    ],
  ])('describes %s', (_, pins, to, versions, expected) => {
    const plan = facts(pins, to, versions);
    expect(describeRunningServices(plan)).toBe(expected);
  });

  it('omits services that remain stopped', () => {
    const plan = facts(['v1.0.0', 'v1.0.0'], 'v1.1.0', ['1.1.0', '1.1.0']);
    expect(describeRunningServices(plan, ['worker'])).toBe('app runs v1.1.0');
  });
});

it.each<[string, Pins, string | null, readonly (string | undefined)[], string[]]>([
  ['the version asked for', ['latest', 'v1.0.0'], 'v1.1.0', ['1.1.0', '1.1.0'], []],
  ['more of the version asked for', ['31'], '32', ['32.0.1'], []],
  [
    'another label',
    ['v1.0.0'],
    'v1.1.0',
    ['1.0.9'],
    ['app runs acme/app:v1.1.0, whose label specifies v1.0.9, not v1.1.0'],
  ],
  [
    'a tag that stays',
    ['v1.0.0', 'edge'],
    'v1.1.0',
    ['1.1.0', '0.9.0'],
    ['worker runs acme/worker:edge, whose label specifies v0.9.0, not v1.1.0'],
  ],
  [
    'a label of the base image',
    ['latest'],
    'v1.1.0',
    ['0.9.1'],
    ['app runs acme/app:latest, whose label specifies v0.9.1, not v1.1.0'],
  ],
  ['canary, which is whatever it is', ['canary'], 'canary', ['1.2.0'], []],
])('findVersionWarnings evaluates %s', (_, pins, to, versions, expected) => {
  const plan = facts(pins, to, versions);
  expect(findVersionMismatchWarnings(plan)).toEqual(expected);
});
