import { describe, expect, it } from 'vitest';
import type { Installation } from '../../../src/agent/inspect/installation.ts';
import { movesOf, planUpdate } from '../../../src/agent/plan/plan-update.ts';
import type { ProjectFiles } from '../../../src/compose/project-files.ts';
import { parseTarget } from '../../../src/release/target.ts';
import { container, installation } from '../../build.ts';

interface Case {
  kind?: Installation['kind'];
  /** Text of the image, with `.env` beside it. */
  image: string;
  env?: string;
  running?: string | null;
  pullPolicy?: string;
}

/** What compose makes of it, given by hand: the plan holds its own reading against it. */
function install(
  { kind = 'user-written', image, env = '', running = '1.0.0', pullPolicy }: Case,
  resolved: string,
): Installation {
  const files: ProjectFiles = {
    composeFiles: [{ path: '/opt/svc/compose.yaml', text: `services:\n  app:\n    image: ${image}\n` }],
    envFiles: [{ path: '/opt/svc/.env', text: env }],
    newEnvFile: '/opt/svc/.env',
  };
  const app = { image: resolved, ...(pullPolicy ? { pull_policy: pullPolicy } : {}) };
  const services = { app: [container('app-1')] };
  return installation(files, { name: 'svc', services: { app } }, { kind, services, runningVersion: running });
}

const target = (text: string | null) => (text === null ? null : parseTarget(text));

describe('planUpdate: what changes by kind of install, pin and target', () => {
  it.each<[string, Case, string, string | null, string]>([
    [
      'generated, release',
      { kind: 'generated', image: `svc:\${SVC_VERSION}`, env: 'SVC_VERSION=v1.0.0\n' },
      'svc:v1.0.0',
      'v1.1.0',
      'svc:v1.1.0',
    ],
    ['release by tag', { image: 'svc:v1.0.0' }, 'svc:v1.0.0', 'v1.1.0', 'svc:v1.1.0'],
    ['release without v', { image: 'svc:1.0.0' }, 'svc:1.0.0', 'v1.1.0', 'svc:1.1.0'],
    ['release to canary', { image: 'svc:v1.0.0' }, 'svc:v1.0.0', 'canary', 'svc:canary'],
    ['canary to release', { image: 'svc:canary' }, 'svc:canary', 'v1.1.0', 'svc:v1.1.0'],
    ['latest to release', { image: 'svc:latest' }, 'svc:latest', 'v1.1.0', 'svc:latest'],
    ['another tag', { image: 'svc:edge' }, 'svc:edge', 'v1.1.0', 'svc:edge'],
  ])('%s', (_, given, resolved, asked, expected) => {
    const plan = planUpdate(install(given, resolved), target(asked));
    expect(movesOf(plan).map(({ to }) => to)).toEqual([expected]);
  });

  it('warns of a tag that is no release tag, and of a major change', () => {
    expect(planUpdate(install({ image: 'svc:edge' }, 'svc:edge'), null).warnings).toEqual([
      'app is at edge, which is no release tag: it is pulled again and stays there',
    ]);
    expect(planUpdate(install({ image: 'svc:v1.0.0' }, 'svc:v1.0.0'), target('v2.0.0')).warnings).toEqual([
      'v1.0.0 → v2.0.0 changes the major version: dump the database first, or have --restore-point keep it: there is no other way back',
    ]);
  });

  it.each<[string, Case, string, string | null, string]>([
    [
      'an older stable release than the running canary',
      { image: 'svc:canary', running: '1.6.0-canary.10' },
      'svc:canary',
      'v1.5.9',
      'downgrade',
    ],
    [
      'a reading that compose does not share',
      { image: 'svc:v1.0.0' },
      'svc:v1.0.1',
      'v1.1.0',
      'pin-unsupported',
    ],
  ])('refuses %s', (_, given, resolved, asked, code) => {
    expect(() => planUpdate(install(given, resolved), target(asked))).toThrow(
      expect.objectContaining({ code }),
    );
  });

  it('does not take an unknown running version for an old one', () => {
    const plan = planUpdate(install({ image: 'svc:edge', running: null }, 'svc:edge'), target('v0.0.1'));
    expect(plan.app.to).toBe('svc:edge');
  });

  it('leaves an image with pull_policy never to what is local', () => {
    const plan = planUpdate(
      install({ image: 'svc:v1.0.0', pullPolicy: 'never' }, 'svc:v1.0.0'),
      target('v1.1.0'),
    );
    expect(plan.app).toMatchObject({ pull: false, to: 'svc:v1.1.0' });
  });
});
