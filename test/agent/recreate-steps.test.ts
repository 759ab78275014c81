import { describe, expect, it } from 'vitest';
import type { Installation, ServiceFacts } from '../../src/agent/installation.ts';
import { planRecreate } from '../../src/agent/recreate-steps.ts';
import type { Model } from '../../src/engine/compose.ts';
import { type Container, numberOf, readContainer } from '../../src/engine/container.ts';

const container = (name: string, status = 'running'): Container =>
  readContainer({
    Id: name,
    Name: `/${name}`,
    State: { Status: status },
    Config: { Labels: { 'com.docker.compose.container-number': name.split('-').at(-1) } },
  });

const facts = (name: string, statuses: string[], isApp = false): ServiceFacts => {
  const containers = statuses.map((status, index) => container(`${name}-${index + 1}`, status));
  const stopped = containers.filter(({ status }) => status !== 'running').map(numberOf);
  return { name, isApp, containers, running: containers.length - stopped.length, stopped };
};

const steps = (
  services: ServiceFacts[],
  more: Partial<Installation> = {},
  model: Model = { name: 'svc', services: {} },
) =>
  planRecreate({ services, followers: [], leftovers: [], ...more } as Installation, model).map((step) =>
    step.kind === 'up'
      ? `up ${step.service} x${step.scale}${step.start ? '' : ' stopped'}${step.force ? ' by force' : ''}`
      : step.kind === 'stop'
        ? `stop ${step.containers.map(({ name }) => name).join(' ')}`
        : step.kind === 'stop-again'
          ? `stop ${step.service}-${step.numbers.join()} again`
          : step.kind === 'await-healthy'
            ? `await ${step.service} for ${step.dependent}`
            : `remove ${step.containers.length}`,
  );

describe('planRecreate', () => {
  it('stops the worker while the old app answers, then replaces the app, then the worker', () => {
    expect(steps([facts('app', ['running'], true), facts('worker', ['running'])])).toEqual([
      'stop worker-1',
      'up app x1',
      'up worker x1',
    ]);
  });

  it('keeps replica counts, stopped ones too', () => {
    expect(
      steps([facts('app', ['running', 'running'], true), facts('worker', ['running', 'exited', 'running'])]),
    ).toEqual(['stop worker-1 worker-3', 'up app x2', 'up worker x3', 'stop worker-2 again']);
  });

  it('leaves a stopped worker stopped, and starts a stopped app', () => {
    expect(steps([facts('app', ['exited'], true), facts('worker', ['exited'])])).toEqual([
      'up app x1',
      'up worker x1 stopped',
    ]);
  });

  it('waits for a healthy app where the worker depends on it', () => {
    const model: Model = {
      name: 'svc',
      services: { worker: { depends_on: { app: { condition: 'service_healthy' } } } },
    };
    const app = facts('app', ['running'], true);
    expect(steps([app, facts('worker', ['running'])], {}, model)).toEqual([
      'stop worker-1',
      'up app x1',
      'await app for worker',
      'up worker x1',
    ]);
    expect(steps([app, facts('worker', ['exited'])], {}, model)).not.toContain('await app for worker');
  });

  it('removes leftovers first and recreates by force what shares a namespace', () => {
    expect(
      steps([facts('app', ['running'], true)], {
        leftovers: [container('0123456789ab_svc-app-1', 'created')],
        followers: [facts('sidecar', ['running']), facts('shell', ['exited'])],
      }),
    ).toEqual(['remove 1', 'up app x1', 'up sidecar x1 by force', 'up shell x1 stopped by force']);
  });
});
