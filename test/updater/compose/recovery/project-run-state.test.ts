import { expect, it } from 'vitest';
import {
  createProjectRunState,
  projectOutcomeFactsOf,
} from '../../../../src/updater/compose/recovery/project-run-state.ts';
import { container } from '../../../build.ts';
import { composeText, installed } from '../../../build-plan.ts';

const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) };

it.each([
  ['postgres:16', undefined],
  ['postgres:17', ['app']],
])('lists the services that can be recreated if the files have %s', (image, safeServices) => {
  const files = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', db: image }) };
  const db = container('db-1', { imageReference: 'postgres:16' });
  const services = { app: [container('app-1')] };
  const containers = [container('app-1'), db];
  const installation = installed(files, { services, containers });
  expect(projectOutcomeFactsOf({ ...createProjectRunState(), installation }).safeServices).toEqual(
    safeServices,
  );
});

it.each([
  ['is restarting', [{ status: 'restarting' }], true],
  ['is unhealthy', [{ health: 'unhealthy' }], true],
  ['is healthy in one of two containers', [{ status: 'restarting' }, {}], undefined],
])('reports whether an app that %s was unhealthy before the update', (_, changes, isUnwell) => {
  const app = changes.map((each, at) => container(`app-${at + 1}`, each));
  const installation = installed(texts, { services: { app } });
  expect(projectOutcomeFactsOf({ ...createProjectRunState(), installation }).isUnwell).toBe(isUnwell);
});
