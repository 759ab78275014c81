import { expect, it } from 'vitest';
import { checkDrift } from '../../../src/agent/drift/index.ts';
import { replacedServices } from '../../../src/agent/inspect/installation.ts';
import { UpdateError } from '../../../src/progress/update-error.ts';
import { container, engine, image } from '../../build.ts';
import { composeText, installed } from '../../build-plan.ts';
import { startEngine } from '../../engine/api/http-engine.ts';

const inspected = {
  Id: 'app-1',
  Name: '/svc-app-1',
  Image: 'sha256:old',
  Config: { Env: ['DB_HOST=db', 'LOST=1'], Labels: { a: 'b' } },
  HostConfig: { NetworkMode: 'svc_default', Binds: ['/opt/svc/data:/data'] },
  NetworkSettings: { Networks: { svc_default: {} } },
};
const body = {
  Env: ['DB_HOST='],
  Labels: { a: 'c' },
  HostConfig: { NetworkMode: 'svc_default', Binds: ['/opt/svc/data:/data'], Privileged: true },
  NetworkingConfig: { EndpointsConfig: { svc_default: {} } },
};
const losses = [
  'app: environment variable DB_HOST would be emptied',
  'app: environment variable LOST would be dropped',
  'app: privileged: true would be given to it',
];
const warning = 'app: label a would change: the files say something else by now, and that is what it gets';

/** What is said of a container that lacks the project's variables, once its image is known or gone. */
async function said(accepted: boolean, isKnown = true): Promise<string[]> {
  const host = await startEngine((from, to) => {
    to.writeHead(from.url?.includes('/own/') ? 404 : 200);
    to.end(JSON.stringify(from.url?.includes('/containers/') ? inspected : { CgroupVersion: '2' }));
  });
  const sent = new Map(isKnown ? [['app', { name: 'svc-app-1', body, apiVersion: '1.51' }]] : []);
  const imagesInUse = new Map([['sha256:old', image('sha256:old', { config: {} })]]);
  const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) };
  const whole = installed(texts, { services: { app: [container('app-1')] }, sent, imagesInUse });
  const lines: string[] = [];
  const log = { warn: (text: string) => lines.push(text) } as unknown as Parameters<
    typeof checkDrift
  >[0]['log'];
  const instance = { ...whole, services: replacedServices(whole) };
  try {
    await checkDrift({ engine: engine(host), log }, instance, { ownId: 'own', accepted });
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    lines.push(`${error.code}: ${error.message}`, ...error.detail, error.advice);
  }
  return lines;
}

it('refuses what would be lost and what would be gained, and warns of the rest', async () => {
  expect(await said(false)).toEqual([
    warning,
    'drift: recreating would take from the instance what its files no longer say and give the instance rights over this machine that it has not now',
    ...losses,
    'Apply your own edits with docker compose up -d first. Where you wrote what gives rights, apply it with docker compose up -d first; where you did not, look who edits the files. --accept-drift goes on regardless.',
  ]);
});

it('warns of all that is accepted', async () => {
  expect(await said(true)).toEqual([warning, ...losses.map((loss) => `accepted: ${loss}`)]);
});

it('says so where the image is gone', async () => {
  expect(await said(false, false)).toEqual([
    'app: its image is gone from this machine: what recreating it would change cannot be told',
  ]);
});
