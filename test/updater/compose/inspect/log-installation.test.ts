// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import {
  formatRunningVersion,
  logInstallation,
} from '../../../../src/updater/compose/inspect/log-installation.ts';
import { container } from '../../../build.ts';
import { composeText, installed, rememberingLog } from '../../../build-plan.ts';

function lines(from: Installation): string[] {
  const { log, lines } = rememberingLog();
  logInstallation(from, log);
  return lines;
}

const both = {
  'compose.yaml': composeText({ app: 'acme/svc:${V}', worker: 'acme/svc:${V}' }),
  '.env': 'V=v1.0.0',
};
const down = { status: 'exited' };
const [app, worker] = [[container('app-1')], [container('worker-1')]];

describe('describeInstallation', () => {
  it('logs the running version and its pin', () => {
    const texts = { 'parts/svc.json': '{"services": {"app": {"image": "acme/svc:v1.0.0"}}}' };
    expect(lines(installed(texts))).toEqual([
      'info: app runs v1.0.0, pinned by image of app in parts/svc.json line 1; svc.json is user-written',
    ]);
  });

  it('does not trust the version label of a floating tag', () => {
    const text = composeText({ app: 'acme/svc:latest' });
    const services = { app: [container('app-1', { imageReference: 'acme/svc:latest' })] };
    const facts = installed({ 'compose.yaml': text }, { services, runningVersion: '1.9.1', prefix: 'v' });
    expect(lines(facts)[0]).toContain('app runs latest (version label: v1.9.1), pinned by');
  });

  it('logs the version and the kind as fields', () => {
    const { log, fields } = rememberingLog();
    logInstallation(installed(both, { kind: 'generated' }), log);
    expect(fields).toEqual([{ from: 'v1.0.0', kind: 'generated' }]);
  });

  it('logs that a downgrade cannot be detected if the running version is unknown', () => {
    const services = { app: [container('app-1', { imageReference: 'acme/svc:edge' })], worker };
    expect(lines(installed(both, { services, runningVersion: null }))).toEqual([
      'info: app and worker run edge, pinned by V in .env line 1; compose.yaml is user-written',
      'info: the running images do not specify their version, so a downgrade cannot be detected',
    ]);
  });

  it.each<[string, Container[], Container[], string[]]>([
    [
      'the app is down',
      [container('app-1', down)],
      worker,
      ['info: app is stopped; the update will start it'],
    ],
    ['the app has several', [container('app-1'), container('app-2')], worker, ['info: app has 2 containers']],
    [
      'one of the worker is down',
      app,
      [container('worker-1'), container('worker-2', down)],
      ['info: worker has 2 containers; svc-worker-2 is stopped and will not be started'],
    ],
  ])('logs the state of the containers if %s', (_, app, worker, expected) => {
    expect(lines(installed(both, { services: { app, worker } })).slice(1)).toEqual(expected);
  });

  it.each<[string, Partial<Container['healthCheck']>, string[]]>([
    [
      'fails',
      { failureText: '1 x' },
      ['warn: app is unhealthy even before the update, so its update cannot be verified (no route)'],
    ],
    [
      'cannot run',
      { cannotRun: true },
      ['warn: the health check of app cannot run, so the update of app cannot be verified (no route)'],
    ],
  ])('warns if the health check %s', (_, changes, expected) => {
    const healthCheck = {
      ...{ longestDecisionMs: 0, shortestDecisionMs: 0, failureText: null, cannotRun: false },
      ...changes,
    };
    const unwell = container('app-1', {
      health: 'unhealthy',
      lastHealthOutput: 'no route\nat all',
      healthCheck,
    });
    const { log, lines } = rememberingLog();
    logInstallation(installed(both, { services: { app: [unwell], worker } }), log);
    expect(lines.slice(1)).toEqual(expected);
  });

  it('warns about a container that keeps exiting', () => {
    const services = { app: [container('app-1', { status: 'restarting' })], worker };
    expect(lines(installed(both, { services })).slice(1)).toEqual([
      'warn: svc-app-1 is in a restart loop; check docker logs svc-app-1',
    ]);
  });

  it('does not report a worker that runs once as stopped', () => {
    const from = installed(both, { services: { app, worker: [container('worker-1', down)] } });
    const depends_on = { worker: { condition: 'service_completed_successfully' } };
    const services = { ...from.model.services, app: { ...from.model.services.app, depends_on } };
    const [first, ...others] = lines({ ...from, model: { ...from.model, services } });
    expect(first).toMatch(/^info: app runs v1\.0\.0, /);
    expect(others).toEqual([]);
  });

  it('warns about a worker that is stopped because its replacement was interrupted', () => {
    const from = installed(both);
    const [facts] = from.workers;
    if (facts === undefined) throw new Error('it has a worker');
    const interrupted = { ...facts, containers: [container('worker-1', down)], running: 1 };
    expect(lines({ ...from, workers: [interrupted] }).slice(1)).toEqual([
      'warn: worker is stopped because its replacement was interrupted; the update will start it',
    ]);
  });

  it('lists services that are recreated because they share a namespace', () => {
    const from = installed(both, { followers: { tail: [container('tail-1')] } });
    expect(lines(from).slice(1)).toEqual([
      'info: tail shares a namespace with app and worker and will also be recreated',
    ]);
  });
});

it.each<[string | null, string, string]>([
  ['1.0.0', 'acme/svc:latest', 'v1.0.0'],
  [null, 'acme/svc:edge', 'edge'],
  [null, 'localhost:5000/svc', 'latest'],
  ['31', 'acme/home:31-apache', '31-apache'],
  ['31.0.9', 'acme/home:31-apache', 'v31.0.9'],
])(
  'formatRunningVersion formats version %s of image %j as %s',
  (runningVersion, imageReference, expected) => {
    const services = { app: [container('app-1', { imageReference })], worker };
    expect(formatRunningVersion(installed(both, { services, runningVersion }))).toBe(expected);
  },
);
