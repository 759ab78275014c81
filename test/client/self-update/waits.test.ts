import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, it } from 'vitest';
import { download, type Limits } from '../../../src/client/self-update/download.ts';
import { endless, type Reply, silence } from '../../feed/forge.ts';
import { clientOf, hurried, type Rig, startRig, workerAsset, workerOf } from './rig.ts';

// What is waited for is waited for side by side: each test has a client and a forge of its own.
let client = '';
beforeAll(async () => {
  client = await clientOf('v1.4.2');
});
const test = it.extend<{ rig: Rig }>({
  rig: async ({ task: _ }, use) => {
    const rig = await startRig(client);
    await use(rig);
    await rig.close();
  },
});

describe.concurrent('a new file', () => {
  test.for<[string, string, string]>([
    ['does not run here', '#!/no/such/program', 'cannot be started (spawn DIR/bin/NEW ENOENT).'],
    ['fails', '#!/bin/sh\nexit 3', 'ended with exit code 3.'],
    ['crashes', '#!/bin/sh\nkill -SEGV $$', 'was ended by SIGSEGV.'],
    ['never ends', '#!/bin/sh\nsleep 1000', 'had not ended after 10 s.'],
    [
      'ignores that it should end',
      "#!/bin/sh\ntrap '' TERM\nsleep 1000\nsleep 1000",
      'had not ended after 10 s.',
    ],
    ['leaves something behind', '#!/bin/sh\nsleep 5 &', 'its --version prints no version.'],
  ])('that %s is not put into place', async ([, program, why], { rig, expect }) => {
    rig.publish('v1.5.0', { [workerAsset]: program });
    const { exitCode, stderr } = await rig.runWorker(['true'], why.includes('10 s') ? hurried(5, 5000) : {});
    expect(stderr.replace(/\.svc-update-\S+/, 'NEW')).toContain(why);
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
    expect(await rig.names()).toEqual(['svc-worker', 'svc.mjs']);
  });
});

describe.concurrent('a command', () => {
  test('has a minute, and what it has started ends with it', async ({ rig, expect }) => {
    const pid = join(rig.directory, 'pid');
    rig.publish('v1.5.0', { [workerAsset]: workerOf('v1.5.0', `sleep 600 & echo $! > '${pid}'; wait`) });
    const began = performance.now();
    const { stdout, exitCode } = await rig.runWorker([rig.worker], hurried(20, 60_000));
    expect(stdout).toContain('With v1.5.0, the command had not ended after 60 s. Putting the old file back.');
    expect(performance.now() - began).toBeGreaterThan(60_000 / 20);
    expect(exitCode).toBe(4);
    expect(await rig.read(rig.worker)).toBe(workerOf('v1.4.2'));
    const ps = ['-o', 'stat=', '-p', (await rig.read(pid)).trim()];
    const state = async () => (await execa('ps', ps, { reject: false })).stdout.replace(/^Z.*/, '');
    await expect.poll(state).toBe('');
  });
});

describe.concurrent('a download', () => {
  const limits: Limits = { silence: 3000, whole: 60_000, size: 1024 };
  const get = async (rig: Rig, reply: Reply, wanted: Partial<Limits> = {}) => {
    rig.forge.host('/file', reply);
    let bytes = 0;
    const chunks = download({
      asset: { name: 'file', url: '/file' },
      feed: rig.forge.address('static'),
      limits: { ...limits, ...wanted },
      signal: new AbortController().signal,
    });
    for await (const chunk of chunks) bytes += chunk.byteLength;
    return bytes;
  };
  /** A byte now and then. */
  const drip: Reply = (_, response) => {
    const timer = setInterval(() => response.write('x'), 100);
    response.on('close', () => clearInterval(timer));
  };

  test('may be slow', async ({ rig, expect }) => {
    const slow: Reply = (_, response) => {
      for (let at = 0; at < 4; at++) setTimeout(() => response.write('x'), at * 900);
      setTimeout(() => response.end('x'), 3600);
    };
    expect(await get(rig, slow)).toBe(5);
  });

  test.for<[string, Reply, string, Partial<Limits>?]>([
    ['nothing at all', silence, 'did not begin: nothing came for 3 s.'],
    ['nothing more', (_, response) => response.write('x'), 'broke off after 0.0 MB: nothing came for 3 s.'],
    [
      'a byte now and then',
      drip,
      'broke off after 0.0 MB: it is not complete after 3 s.',
      { silence: 60_000, whole: 3000 },
    ],
    ['more than is taken', endless(), 'file is larger than 1 KiB.'],
  ])('of %s ends', async ([, reply, sentence, wanted], { rig, expect }) => {
    await expect(get(rig, reply, wanted)).rejects.toThrow(sentence);
    // Its connection does not stay.
    await expect.poll(() => rig.forge.seen.at(-1)?.dropped).toBe(true);
  });
});
