import { execa } from 'execa';
import { test } from 'vitest';
import { findContainers, keepsIndexes } from '../rig/engine-api.ts';
import { shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';

// docs/contract.md 5.19: with the containerd store a build over a tag takes the image away that the tag named, though
// containers run it. Nobody can make them again then, unless a registry has it.

const instance = shareInstance({ publish: ['v1.1.0', 'v1.1.3'] });
const gone =
  /^the image used by app and worker \(sha256:[0-9a-f]{12}\) is no longer on this machine, so drift detection is limited/;

/** As a person does who builds what runs by hand. Gives the id of the image that was there before. */
async function buildOver(tag: string): Promise<string> {
  const { image, project } = instance();
  const app = (await findContainers(project)).find(({ Name }) => Name.endsWith('-app-1'));
  const file = `FROM ${image}:${tag}\nENV PATH=/bin:/other\nLABEL built=again\n`;
  await execa('docker', ['build', '--quiet', '--tag', `${image}:${tag}`, '-'], { input: file });
  return app?.Image ?? '';
}

test('an update from one is no drift, and says before anything is replaced that there is no way back', async ({
  skip,
}) => {
  if (!(await keepsIndexes())) skip('this engine keeps what a container runs');
  await buildOver('v1.0.0');
  await updateWell(instance(), ['--target', 'v1.1.0'], {
    version: 'v1.1.0',
    changed: { '.env': (text) => text.replace('v1.0.0', 'v1.1.0') },
    warns: [gone],
  });
});
