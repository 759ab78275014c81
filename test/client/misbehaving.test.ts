import { describe, expect, it } from 'vitest';
import { type Disturbance, type Script, typicalRun } from '../../src/instance/testing/index.ts';
import type { ScriptedStep } from '../../src/instance/testing/script.ts';
import { play, serve, svc } from './rig.ts';

// Each test starts the client many times, beside the others.

/** A client for which ten seconds go by in one: of its clock, and of all that it waits for. */
const hurry = `
const [now, wait] = [performance.now.bind(performance), globalThis.setTimeout];
performance.now = () => now() * 10;
globalThis.setTimeout = (work, time, ...more) => wait(work, time / 10, ...more);`;
/** A client whose clock stands still but for its pauses of a second, which take no time. */
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

describe.concurrent('the first question', () => {
  it('that gets no proper answer ends each command with 2, and says what to change', async () => {
    const url = await serve((_, response) =>
      response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    );
    for (const command of commands) {
      const { out, err, exitCode } = await svc(url, `instance ${command}`);
      // Who follows an update may ask at the very moment when svc is away.
      const advice = 'While an update replaces svc it is away: try again in a moment.\n';
      expect([exitCode, out, err]).toEqual([
        2,
        '',
        `Something else than svc answers at ${url} (502, text/html). Is svc up? Else see SVC_URL.\n${command === 'follow' ? advice : ''}`,
      ]);
    }
  });

  it('that is redirected takes nothing there, its token least of all', async () => {
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

/** A typical run whose step `recreate` is so long, with that in place of the server. */
function away(disturbed: Disturbance | undefined, seconds: number): Script {
  const { steps, end } = typicalRun();
  const changed = steps.map((step): ScriptedStep => {
    if (step.state !== 'recreate') return step;
    const { disturbed: _, ...rest } = step;
    return { ...rest, seconds, ...(disturbed === undefined ? {} : { disturbed }) };
  });
  return { speed: 10, runs: [{ steps: changed, end }] };
}

describe.concurrent('an update is followed', () => {
  it.each<Disturbance>(['bad-gateway', 'silence', 'logged-out', 'unknown'])(
    'through: %s',
    async (disturbed) => {
      const { url, asked } = await play(away(disturbed, 20));
      const { out, exitCode } = await svc(url, 'instance update');
      expect(exitCode, out).toBe(0);
      expect(out).toMatch(/\nreplaced, \d+ s\nverified, \d+ s\n✓ svc v1\.5\.0 runs\./);
      // It comes back with what it has seen, and not more often than its pauses let it.
      expect(asked.filter((one) => one.startsWith('GET /progress')).length).toBeLessThan(14);
    },
  );

  it('to a server that comes back and knows nothing of it: that is said', async () => {
    const { url } = await play(away('unknown', 900));
    const { out, exitCode } = await svc(url, 'instance update', hurried);
    expect(exitCode).toBe(1);
    expect(out).toMatch(
      /\nsvc v1\.4\.2 answers and knows nothing of the update begun at \d\d:\d\d\. On the machine: docker logs svc-updater\n$/,
    );
  });
});

describe.concurrent('the request for an update is refused', () => {
  it.each<[number, object, number, string]>([
    [400, { detail: 'there is no such release' }, 2, 'URL answered 400: There is no such release.\n'],
    [409, { detail: 'a conflict' }, 3, 'It cannot be updated now: A conflict.\n'],
    [
      409,
      { detail: 'x', reason: { code: 'moon', message: 'the moon is full' } },
      3,
      'It cannot be updated now: the moon is full.\n',
    ],
  ])('with %d %j, said once and to programs as the document', async (status, body, code, sentence) => {
    const { url, asked } = await play({
      intercept: ({ method }) => (method === 'POST' ? problem(status, body) : undefined),
    });
    const { out, err, exitCode } = await svc(url, 'instance update --json');
    expect([exitCode, err.replaceAll(url, 'URL')]).toEqual([code, sentence]);
    expect(JSON.parse(out)).toMatchObject({ status, ...body });
    expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(1);
  });
});

describe.concurrent('a POST whose answer is lost', () => {
  it('is not repeated where the update was started: that one is followed', async () => {
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
      /^http:\S+ closed the connection before it had answered\. .*Looking whether the update was started…\n$/,
    );
    expect(out).toMatch(/^Updating svc v1\.4\.2 → v1\.5\.0\n[\s\S]*✓ svc v1\.5\.0 runs\./);
  });

  it('is not repeated where it was not: that is said', async () => {
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
      /\nsvc has not started the update; nothing was changed\. Try again: svc instance update\n$/,
    );
    // It was looked for as long as the request may have been under way, and not without a pause.
    expect(asked.filter((one) => one === 'GET /progress')).toHaveLength(16);
  });
});

describe.concurrent('what comes from the server', () => {
  const evil = 'a\x1b[2Jb\x07\u202Ec\r\nd\u009b31m';
  const escaped = 'a\\u001b[2Jb\\u0007\\u202ec\\u000d\\u000ad\\u009b31m';

  it('is written out where it would move the cursor or turn the text around', async () => {
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
