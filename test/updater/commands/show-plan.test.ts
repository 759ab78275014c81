import { expect, it } from 'vitest';
import { requirePublishedImages } from '../../../src/updater/commands/show-plan.ts';
import { composeText, engineThat, installed, modelOf, planTo, projectFiles } from '../../build-plan.ts';

it.each([
  ['always', 'the registry does not have acme/svc:v1.1.0'],
  ['never', null],
])(
  'reports an image missing from its registry only if it is to be pulled: pull_policy %s, error %s',
  async (policy, message) => {
    const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) };
    const from = installed(texts, { model: modelOf(projectFiles(texts), { app: { pull_policy: policy } }) });
    const engine = await engineThat((_, to) => to.writeHead(404).end('{"message":"manifest unknown"}'));
    const refused = requirePublishedImages(engine, planTo('v1.1.0', from).updates);
    if (message === null) await refused;
    else await expect(refused).rejects.toThrow(message);
  },
);
