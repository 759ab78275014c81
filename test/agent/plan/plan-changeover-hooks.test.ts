import { expect, it } from 'vitest';
import { planChangeover } from '../../../src/agent/plan/plan-changeover.ts';
import type { FilePlan } from '../../../src/agent/plan/plan-files.ts';
import { planUpdate } from '../../../src/agent/plan/plan-update.ts';
import type { ProjectFiles } from '../../../src/compose/project-files.ts';
import type { ModelService } from '../../../src/engine/cli/compose.ts';
import { parseTarget } from '../../../src/release/target.ts';
import { image, installation } from '../../build.ts';

/** An update of app and worker whose new model has these beside the images. */
function moved(app: ModelService, worker: ModelService) {
  const text = 'services:\n  app:\n    image: svc:v1.0.0\n  worker:\n    image: svc:v1.0.0\n';
  const files: ProjectFiles = {
    composeFiles: [{ path: '/opt/svc/compose.yaml', text }],
    envFiles: [],
    newEnvFile: '/opt/svc/.env',
  };
  const model = (image: string, more: Record<string, ModelService> = {}) => ({
    name: 'svc',
    services: { app: { image, ...more.app }, worker: { image, ...more.worker } },
  });
  const install = installation(files, model('svc:v1.0.0'));
  const references = new Map(['app', 'worker'].map((name) => [name, 'svc:v1.1.0']));
  const filePlan: FilePlan = {
    ...{ changes: [], model: model('svc:v1.1.0', { app, worker }), references, version: '1.1.0' },
    ...{ warnings: [], alsoMoved: [], migrations: [], newServices: [], changedServices: [] },
  };
  const images = new Map([['svc:v1.1.0', image('sha256:new')]]);
  const facts = { images, containers: [], from: 'v1.0.0' };
  return planChangeover(install, planUpdate(install, parseTarget('v1.1.0')), filePlan, facts).moved;
}

const to = { reference: 'svc:v1.1.0', id: 'sha256:new' };
const plain = { follows: false, image: to, awaits: [] };

it('knows what a worker waits for, and which service runs commands before its start', () => {
  expect(moved({}, {})).toEqual([
    { name: 'app', isApp: true, ...plain },
    { name: 'worker', isApp: false, ...plain },
  ]);
  const hook = { command: ['/bin/migrate'] };
  const waiting = { depends_on: { app: { condition: 'service_healthy' } }, pre_start: [] };
  expect(moved({ pre_start: [hook] }, waiting)).toEqual([
    { name: 'app', isApp: true, ...plain, hasStartHook: true },
    { name: 'worker', isApp: false, ...plain, awaits: ['app'] },
  ]);
});
