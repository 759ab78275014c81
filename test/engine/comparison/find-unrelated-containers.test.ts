import { describe, expect, it } from 'vitest';
import {
  composeOriginOf,
  expectedComposeLabelsOf,
  findLargestComposeLabelGroup,
  findUnrelatedContainers,
  type KnownInstance,
} from '../../../src/engine/comparison/find-unrelated-containers.ts';
import type { ListedContainer } from '../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../src/engine/objects/labels.ts';

interface Said {
  directory?: string;
  files?: string;
  env?: string;
  image?: string;
  number?: string;
  status?: string;
}

/** A container such as `app-1`; its service is the part before the hyphen. */
const one = (
  name: string,
  { directory = '/opt/svc', files = '/opt/svc/a.yaml', env, image, number, status = 'running' }: Said = {},
): ListedContainer => ({
  id: name.padEnd(64, '0'),
  imageId: '',
  networkMode: '',
  name,
  status,
  imageReference: image ?? 'acme/svc:v1.0.0',
  labels: {
    [composeLabels.service]: name.replace(/-.*/, ''),
    [composeLabels.number]: number ?? name.replace(/.*-/, ''),
    [composeLabels.directory]: directory,
    [composeLabels.files]: files,
    ...(env !== undefined && { [composeLabels.envFiles]: env }),
  },
});
const evil = { files: '/opt/svc/data/evil.yaml' };
const app = one('app-1');
const byHand: KnownInstance = {
  project: 'svc',
  directory: '/opt/svc',
  app: 'app',
  knownOrigins: new Set(),
  serverId: null,
  isHalfReplaced: false,
};
const told = { ...byHand, knownOrigins: new Set([composeOriginOf(app)]), serverId: app.id };
/** Journal of an interrupted update that adds an env file to its containers. */
const journal = expectedComposeLabelsOf({
  directory: '/opt/svc',
  files: ['/opt/svc/a.yaml'],
  envFiles: ['/opt/.env'],
});
const killed = { ...byHand, knownOrigins: new Set([composeOriginOf(app), journal]), isHalfReplaced: true };
const serverGone = { ...killed, knownOrigins: new Set([journal]), serverId: 'f'.repeat(64) };

describe('containers that belong to the instance', () => {
  it.each<[string, ListedContainer[], KnownInstance]>([
    ['one', [app], byHand],
    ['replicas', [app, one('app-2')], byHand],
    [
      'services that were started by different calls',
      [app, one('worker-1', { files: '/opt/svc/b.yaml' })],
      byHand,
    ],
    ['another project of the same name', [app, one('web-1', { directory: '/srv/svc' })], byHand],
    [
      'an older image, of which only the id is left',
      [app, one('app-2', { image: `sha256:${'1'.repeat(64)}` })],
      byHand,
    ],
    ['what can be of no service', [app, one('$(x)-1'), one('$(x)-2', evil)], byHand],
    ['halves of an update', [app, one('app-2', { env: '/opt/.env' })], killed],
    ['what has replaced the server', [one('app-1', { env: '/opt/.env' })], serverGone],
  ])('are accepted: %s', (_, containers, known) =>
    expect(findUnrelatedContainers(containers, known)).toBeNull(),
  );
});

describe('containers that may not belong to the instance', () => {
  it.each<[string, ListedContainer[], KnownInstance, string[], string]>([
    [
      'by the directory',
      [app, one('app-9', { directory: '/srv/x' })],
      byHand,
      ['app-9'],
      'another directory',
    ],
    ['by the server', [one('app-9', evil), app], told, ['app-9'], 'other compose files'],
    [
      'of the app, where the server is a worker',
      [one('app-9', evil)],
      { ...told, serverId: 'w' },
      ['app-9'],
      'other compose files',
    ],
    [
      'by env files',
      [app, one('app-9', { env: '/opt/svc/data/evil.env' })],
      told,
      ['app-9'],
      'other env files',
    ],
    ['the app alone, by a journal', [one('app-9', evil)], serverGone, ['app-9'], 'other compose files'],
    [
      'by the image',
      [app, one('app-9', { image: 'mallory/x' })],
      told,
      ['app-9'],
      'image of another repository',
    ],
  ])('are reported: %s', (_, containers, known, names, by) => {
    const found = findUnrelatedContainers(containers, known);
    expect(found?.message).toContain(by);
    expect(found?.advice).toMatch(
      new RegExp(
        `^Find out who started .*\\. To remove (?:it|them), run docker rm -f ${names.join(' ')}\\. `,
      ),
    );
    expect(`${found?.message} ${found?.advice}`).not.toMatch(/evil\.|\/srv/);
  });

  it.each<[string, Said, string]>([
    ['files', evil, 'different compose files'],
    ['env files', { env: '/opt/svc/data/evil.env' }, 'different env files'],
    ['images', { image: 'localhost:5000/mallory/x:v1.0.0' }, 'images of different repositories'],
  ])('are reported with a command to remove one of two containers with different %s', (_, said, by) => {
    for (const containers of [
      [app, one('app-9', said), one('worker-1')],
      [one('app-9', said), app, one('db-1')],
    ]) {
      const found = findUnrelatedContainers(containers, byHand);
      for (const name of ['app-1', 'app-9']) expect(found?.message).toContain(`${name} (${name}`);
      expect(found?.message).toContain(by);
      expect(found?.message).not.toMatch(/worker-1|db-1/);
      // The command removes the container that agrees with no other container of the project.
      expect(found?.advice).toMatch(
        /^Find out who started them\. To remove those .*, run docker rm -f app-9\. /,
      );
    }
  });
});

describe('containers of one service with one number', () => {
  const numbered = (name: string, status: string): ListedContainer => {
    const found = one(`app-${name}`, { number: '1', status });
    return { ...found, name };
  };
  it.each<[string, string, string, string, string]>([
    ['both run', 'svc-app-1', 'running', 'old', 'running'],
    ['neither runs', 'svc_app_1', 'exited', 'old', 'created'],
    ['only the renamed one runs', 'old', 'running', 'svc-app-1', 'exited'],
    ['container_name is set', 'cloud', 'running', 'old', 'exited'],
  ])('are reported with the name of the leftover if %s', (_, kept, keptStatus, left, leftStatus) => {
    const both = [numbered(left, leftStatus), numbered(kept, keptStatus)];
    const found = findUnrelatedContainers(both, byHand);
    expect(found?.message).toContain(`another updater has probably left ${left} behind`);
    expect(found?.advice).toBe(
      `Make sure that ${kept} is the container to keep. To remove the other, run docker rm -f ${left}. Then run {command} again.`,
    );
  });

  it('are reported without a choice if the leftover cannot be identified', () => {
    const found = findUnrelatedContainers([numbered('a', 'running'), numbered('b', 'running')], byHand);
    expect(found?.message).toMatch(
      / a \(app-a.* b \(app-b.*another updater has probably left one of them behind$/,
    );
    expect(found?.advice).toBe('Remove all but one of them with docker rm -f, then run {command} again.');
  });

  it('are accepted during an interrupted update', () => {
    const both = [numbered('a', 'running'), numbered('b', 'running')];
    expect(findUnrelatedContainers(both, { ...byHand, isHalfReplaced: true })).toBeNull();
  });
});

it('majorityOfContainers finds the largest group of containers that were started from the same files', () => {
  const own = [app, one('db-1')];
  expect(
    findLargestComposeLabelGroup([one('x-1', evil), ...own, one('y-1', { directory: '/srv' })], '/opt/svc'),
  ).toEqual(own);
  expect(findLargestComposeLabelGroup(own, '/elsewhere')).toEqual(own);
});
