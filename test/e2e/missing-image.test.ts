import { execa } from 'execa';
import { test } from 'vitest';
import { findContainers, keepsIndexes } from '../rig/engine-api.ts';
import { shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';

// docs/contract.md 5.19: with the containerd store, a build that reuses a tag removes the old image, even if containers
// use it. These containers cannot be recreated unless a registry has the image.

const instance = shareInstance({ publish: ['v1.1.0', 'v1.1.3'] });
const gone =
  /^the image used by app and worker \(sha256:[0-9a-f]{12}\) is no longer on this machine, so drift detection is limited/;

/** Builds another image with the tag of the running image, as an owner may do. Returns the ID of the previous image. */
async function buildOver(tag: string): Promise<string> {
  const { image, project } = instance();
  const app = (await findContainers(project)).find(({ Name }) => Name.endsWith('-app-1'));
  const file = `FROM ${image}:${tag}\nENV PATH=/bin:/other\nLABEL built=again\n`;
  await execa('docker', ['build', '--quiet', '--tag', `${image}:${tag}`, '-'], { input: file });
  return app?.Image ?? '';
}

test('an update from a missing image is not drift, but warns before the replacement that a rollback is impossible', async ({
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
