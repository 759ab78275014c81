import { describe, expect, it } from 'vitest';
import { checkImagePlatforms } from '../../../../../src/updater/compose/plan/release/check-image-platforms.ts';
import { container, image } from '../../../../build.ts';
import { composeText, installed, modelOf, planTo, projectFiles } from '../../../../build-plan.ts';

const amd = 'linux/amd64';
const arm = 'linux/arm64';
const to = 'acme/svc:v1.1.0';

interface Case {
  /** The platform in the compose file. */
  chosen?: string;
  /** The platform of the running container; null if the engine does not report it. */
  runs?: string | null;
  /** The platforms in the old image's index. */
  old?: { platforms?: string[] };
  /** The platforms of the new image. */
  here: string[];
}

/** Checks the platforms on an amd64 engine. */
function judged({ chosen, runs = null, old = {}, here }: Case): string[] {
  const files = projectFiles({ 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) });
  const model = modelOf(files, { app: chosen === undefined ? {} : { platform: chosen } });
  const install = installed(files, {
    model,
    services: { app: [container('app-1', { platform: runs })] },
    imagesInUse: new Map([['sha256:old', image('sha256:old', old)]]),
  });
  const images = new Map([[to, image('sha256:new', { platforms: here })]]);
  return checkImagePlatforms(planTo('v1.1.0', install), model, images);
}

describe('the platform of the pulled images', () => {
  it.each<[string, Case]>([
    ['its own', { runs: amd, here: [amd] }],
    ['what is chosen', { chosen: arm, runs: arm, here: [arm, amd] }],
    ['what is chosen in other words', { chosen: 'aarch64', runs: arm, here: [arm] }],
    ['what a chosen machine runs besides', { chosen: arm, runs: 'linux/arm', here: ['linux/arm'] }],
    ['what runs, of which there is nothing else', { runs: arm, here: [arm] }],
    ['what nobody tells of', { runs: arm, here: [] }],
  ])('may be %s', (_, given) => {
    expect(judged(given)).toEqual([]);
  });

  it.each<[string, Case, string]>([
    [
      'not the chosen one',
      { chosen: arm, runs: arm, here: [amd] },
      `${to} was built for ${amd}, but the compose files specify ${arm} for app`,
    ],
    [
      "the engine's, where a shell has chosen",
      { runs: arm, here: [amd] },
      `app runs on ${arm}, but ${to} would run on ${amd}, because no compose file specifies a platform`,
    ],
    [
      "the engine's, where nobody tells what there was besides",
      { old: { platforms: [arm] }, here: [amd] },
      `app runs on ${arm}, but ${to} would run on ${amd}, because no compose file specifies a platform`,
    ],
  ])('is rejected: %s', (_, given, message) => {
    expect(() => judged(given)).toThrow(expect.objectContaining({ code: 'pull-platform', message }));
  });

  it('changes if the files now specify another platform', () => {
    expect(judged({ chosen: arm, runs: amd, here: [arm] })).toEqual([
      `the platform of app will change from ${amd} to ${arm}, as specified in the compose files`,
    ]);
  });
});
