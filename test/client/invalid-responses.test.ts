import { describe, expect, it } from 'vitest';
import { type Disturbance, type Script, typicalRun } from '../../src/server/testing/index.ts';
import type { ScriptedStep } from '../../src/server/testing/script.ts';
import { play, serve, svc } from './rig.ts';

/** Speeds up the clock and the timers of a client by a factor of ten. */
const hurry = `
const [now, wait] = [performance.now.bind(performance), globalThis.setTimeout];
performance.now = () => now() * 10;
globalThis.setTimeout = (work, time, ...more) => wait(work, time / 10, ...more);`;
/** Advances the clock of a client only by its pauses of a second, which take no real time. */
const pauses = `
let [passed, wait] = [0, globalThis.setTimeout];
performance.now = () => passed;
globalThis.setTimeout = (work, time, ...more) =>
  time === 1000 ? wait(() => ((passed += time), work(...more))) : wait(work, time, ...more);`;
const changed = (code: string) => ({
  env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` },
});
const hurried = changed(hurry);

const problem = (status: number, body: object) =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/problem+json' } });

const commands = ['status', 'history', 'update', 'follow', 'cancel', 'channel stable'];

describe.concurrent('the first request', () => {
  it('without a valid response makes each command exit with 2 and print the settings to check', async () => {
    const url = await serve((_, response) =>
      response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    );
    for (const command of commands) {
      const { out, err, exitCode } = await svc(url, `instance ${command}`);
      // `follow` may be started during the downtime.
      const advice = 'svc is briefly unavailable during an update. Try again in a few seconds.\n';
      expect([exitCode, out, err]).toEqual([
        2,
        '',
        `${url} responded, but the response is not from svc (502, text/html). Check that svc is running and that SVC_URL is correct.\n${command === 'follow' ? advice : ''}`,
      ]);
    }
  });

  it('does not follow a redirect, and sends no token to its target', async () => {
    const asked: (string | undefined)[] = [];
    const elsewhere = await serve(({ headers, url }, response) => {
      asked.push(`${url} ${headers.authorization}`);
      response.end('{}');
    });
    const here = await serve((_, response) =>
      response.writeHead(307, { Location: `${elsewhere}/api/v1/instance/update` }).end(),
    );
    for (const command of commands)
      expect(await svc(here, `instance ${command}`, { env: { SVC_TOKEN: 'Zq7secret' } })).toMatchObject({
        exitCode: 2,
      });
    expect(asked).toEqual([]);
  });
});

/** A typical run whose `recreate` phase has this length and this disturbance. */
function away(disturbed: Disturbance | undefined, seconds: number): Script {
  const { steps, end } = typicalRun();
  const changed = steps.map((step): ScriptedStep => {
    if (step.state !== 'recreate') return step;
    const { disturbed: _, ...rest } = step;
    return { ...rest, seconds, ...(disturbed === undefined ? {} : { disturbed }) };
  });
  return { speed: 10, runs: [{ steps: changed, end }] };
}

describe.concurrent('a client that follows an update', () => {
  it.each<Disturbance>(['bad-gateway', 'silence', 'logged-out', 'unknown'])(
    'reports the success of the update despite the disturbance %s',
    async (disturbed) => {
      const { url, asked } = await play(away(disturbed, 20));
      const { out, exitCode } = await svc(url, 'instance update');
      expect(exitCode, out).toBe(0);
      expect(out).toMatch(/\nReplaced, \d+ s\nVerified, \d+ s\n✓ Updated to v1\.5\.0 in /);
      // The client pauses between its attempts.
      expect(asked.filter((one) => one.startsWith('GET /progress')).length).toBeLessThan(14);
    },
  );

  it('reports that the server has no record of the update', async () => {
    const { url } = await play(away('unknown', 900));
    const { out, exitCode } = await svc(url, 'instance update', hurried);
    expect(exitCode).toBe(1);
    expect(out).toMatch(
      /\nThe server \(svc v1\.4\.2\) has no record of the update that started at \d\d:\d\d\. On the server, run: docker logs svc-updater\n$/,
    );
  });
});

describe.concurrent('a rejected request for an update', () => {
  it.each<[number, object, number, string]>([
    [400, { detail: 'there is no such release' }, 2, 'URL responded with 400: There is no such release.\n'],
    [409, { detail: 'a conflict' }, 3, 'Cannot update now: a conflict.\n'],
    [
      409,
      { detail: 'x', reason: { code: 'moon', message: 'the moon is full' } },
      3,
      'Cannot update now: the moon is full.\n',
    ],
  ])(
    'is reported once, and as a problem document with --json: %d %j',
    async (status, body, code, sentence) => {
      const { url, asked } = await play({
        intercept: ({ method }) => (method === 'POST' ? problem(status, body) : undefined),
      });
      const { out, err, exitCode } = await svc(url, 'instance update --json');
      expect([exitCode, err.replaceAll(url, 'URL')]).toEqual([code, sentence]);
      expect(JSON.parse(out)).toMatchObject({ status, ...body });
      expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(1);
    },
  );
});

describe.concurrent('a POST with a lost response', () => {
  it('is not repeated if the update was started, and the client follows the update', async () => {
    let posts = 0;
    const { url, updates } = await play({
      speed: 10,
      intercept: async (request) => {
        if (request.method !== 'POST') return undefined;
        posts++;
        await updates.update({ target: 'v1.5.0', by: 'admin' });
        return Response.error();
      },
    });
    const { out, err, exitCode } = await svc(url, 'instance update');
    expect([exitCode, posts]).toEqual([0, 1]);
    expect(err).toMatch(
      /^http:\S+ closed the connection before the response was complete\. .*Checking whether the update was started…\n$/,
    );
    expect(out).toMatch(/^Updating svc v1\.4\.2 → v1\.5\.0\n[\s\S]*✓ Updated to v1\.5\.0 in /);
  });

  it('is not repeated if the update was not started, and the client reports the failure', async () => {
    let posts = 0;
    const { url, asked } = await play({
      intercept: ({ method }) => {
        if (method === 'POST') posts++;
        return method === 'POST' ? Response.error() : undefined;
      },
    });
    const { err, exitCode } = await svc(url, 'instance update', changed(pauses));
    expect([exitCode, posts]).toEqual([1, 1]);
    expect(err).toMatch(
      /\nsvc did not start the update; nothing was changed\. Try again: svc instance update\n$/,
    );
    // The client polls, with pauses, for as long as the request may still be processed.
    expect(asked.filter((one) => one === 'GET /progress')).toHaveLength(16);
  });
});

describe.concurrent('text from the server', () => {
  const evil = 'a\x1b[2Jb\x07\u202Ec\r\nd\u009b31m';
  const escaped = 'a\\u001b[2Jb\\u0007\\u202ec\\u000d\\u000ad\\u009b31m';

  it('is escaped if it contains control or bidi characters', async () => {
    const job = { kind: 'backup', state: 'running', title: evil, since: null, stuck: false } as const;
    const url = 'https://example.org/\x1b]8;;';
    const latest = { version: 'v1.5.0', url, notes: evil, publishedAt: null };
    const buildServers = [{ name: evil, version: evil, outdated: true, command: evil }];
    const script = {
      speed: 40,
      jobs: [{ ...job, seconds: 40 }],
      status: { latest, buildServers, preparation: evil },
      runs: [
        typicalRun({ outcome: 'failed', in: 'pull', message: evil, cause: evil, code: 'x', advice: evil }),
      ],
      authorize: () => ({ role: 'admin', name: evil }),
    } satisfies Parameters<typeof play>[0];
    const { url: address } = await play(script);
    const { url: busy } = await play({ ...script, jobs: [{ ...job, seconds: 1e6 }] });
    const words = [
      'status',
      'update --when-idle',
      'follow',
      'follow --json',
      'history',
      'history --json',
      'status --json',
      'channel stable',
    ];
    let all = '';
    for (const word of ['update', ...words]) {
      const { out, err } = await svc(word === 'update' ? busy : address, `instance ${word}`);
      expect((out + err).replaceAll('\n', ''), word).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
      all += out;
    }
    expect(all).toContain(`  backup  ${escaped}\n`);
    expect(all).toContain(`Build servers: ${escaped} ${escaped} (outdated)`);
  });
});
