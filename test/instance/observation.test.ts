import { expect, it } from 'vitest';
import { readOptions } from '../../src/instance/contract/options.ts';
import { lostStore } from '../../src/instance/observation.ts';
import { readHome } from '../../src/instance/place/home.ts';
import { details, plainOptions } from './place/details.ts';

const home = readHome(
  details(
    {
      Config: {
        Image: 'acme/svc:v1.4.2',
        Labels: {
          'com.docker.compose.project': 'svc',
          'com.docker.compose.project.working_dir': '/opt/svc',
          'com.docker.compose.service': 'app',
        },
      },
      Mounts: [
        { Type: 'bind', Source: '/run/docker.sock', Destination: '/var/run/docker.sock', RW: true },
        {
          Type: 'volume',
          Name: 'svc_data',
          Source: '/var/lib/docker/volumes/svc_data/_data',
          Destination: '/data',
          RW: true,
        },
        { Type: 'tmpfs', Source: '', Destination: '/tmp', RW: true },
      ],
    },
    {
      hostMounts: [
        { type: 'bind', source: '/run/docker.sock', destination: '/var/run/docker.sock', writable: true },
      ],
    },
  ),
  readOptions(plainOptions),
  '/run/docker.sock',
);

it.each([
  ['on a volume', '/data', false],
  ['below it', '/data/updates', false],
  ['beside it', '/database', true],
  ['in the container itself', '/app/updates', true],
  ['in memory', '/tmp/updates', true],
  ['somewhere that is not said', undefined, false],
])('a store %s', (_, directory, isLost) => {
  const reason = lostStore(home, directory);
  expect(reason?.code ?? null).toBe(isLost ? 'store-unavailable' : null);
  if (isLost) expect(reason?.message).toContain(directory);
});

it('is nowhere where nobody knows of mounts', () => expect(lostStore(null, '/app')).toBeNull());
