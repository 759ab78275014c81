import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Disturbance, type Script, typicalRun } from '../../src/instance/testing/index.ts';
import type { ScriptedStep } from '../../src/instance/testing/script.ts';
import { selfSigned } from '../engine/self-signed.ts';
import { afterTests, play, serve, svc } from './rig.ts';

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

type Answering = (request: IncomingMessage, response: ServerResponse) => unknown;

const problem =
  (status: number, detail: string): Answering =>
  (_, response) =>
    response
      .writeHead(status, { 'Content-Type': 'application/problem+json' })
      .end(JSON.stringify({ status, detail }));
/** What `follow` says besides where svc itself does not answer: it may be away. */
const awayAdvice = 'While an update replaces svc it is away: try again in a moment.\n';
const page =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end('<h1>Log in</h1>');

describe.concurrent('the first question', () => {
  it.each<[string, Answering, RegExp]>([
    [
      '401',
      problem(401, 'Log in first.'),
      /^URL wants to know who asks \(401\)\. Set SVC_TOKEN, or log in: svc login\n$/,
    ],
    [
      "a proxy's 401",
      page(401, { 'WWW-Authenticate': 'Basic realm="staging"' }),
      /^Something in front of svc at URL wants a login of its own \(401, Basic\), and svc was not asked\. It has to let \/api\/v1\/instance\/update pass; else see SVC_URL\.\n$/,
    ],
    [
      '403',
      problem(403, 'Only an admin may do this.'),
      /^URL does not allow this \(403\): Only an admin may do this\. See SVC_TOKEN\.\n$/,
    ],
    [
      '500',
      problem(500, "Something went wrong; the server's log says what."),
      /^URL answered 500: Something went wrong; the server's log says what\.\n$/,
    ],
    ['503', problem(503, 'Not now: come back in a moment.'), /^URL answered 503: Not now/],
    [
      'a redirect to TLS',
      page(308, { Location: 'https://svc.test/api/v1/instance/update' }),
      /^URL redirects\. SVC_URL should be https:\/\/svc\.test\n$/,
    ],
    [
      'a redirect to a log-in',
      page(302, { Location: '/login?next=/' }),
      /^URL redirects to URL\/login, perhaps a log-in\. That is not followed; see SVC_URL\.\n$/,
    ],
    [
      "a proxy's 404",
      page(404),
      /^Something else than svc answers at URL \(404, text\/html\)\. See SVC_URL\.\n$/,
    ],
    ["a proxy's 502", page(502), /^Something else than svc answers at URL \(502, text\/html\)/],
    [
      "a gateway's own JSON",
      (_, response) =>
        response.writeHead(404, { 'Content-Type': 'application/json' }).end('{"message":"no Route"}'),
      /\(404, application\/json\)/,
    ],
    ['a page', page(200), /^Something else than svc answers at URL \(200, text\/html\)/],
    [
      'other JSON',
      (_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"status":"ok"}'),
      /^Something else than svc answers at URL \(200, application\/json\)/,
    ],
    [
      'half an answer',
      (_, response) =>
        response
          .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '9999' })
          .write('{"version":', () => response.destroy()),
      /^URL closed the connection before it had answered\./,
    ],
    [
      'no answer',
      (request) => request.socket.destroy(),
      /^URL closed the connection before it had answered\. Is svc up\? Else see SVC_URL\.$/m,
    ],
  ])('that gets %s says what to change', async (_, answer, form) => {
    const url = await serve(answer);
    const commands = ['status', 'history', 'update', 'follow', 'cancel', 'channel stable'];
    const said = await Promise.all(commands.map((command) => svc(url, `instance ${command}`)));
    for (const [at, { out, err, exitCode }] of said.entries()) {
      // Who follows an update may ask at the very moment when svc is away.
      const advice = commands[at] === 'follow' ? awayAdvice : '';
      expect(err.replaceAll(url, 'URL').replace(advice, '')).toMatch(form);
      expect([exitCode, out]).toEqual([2, '']);
    }
  });

  it.each([301, 302, 307, 308])(
    'that is sent on by a %s takes nothing there, its token least of all',
    async (status) => {
      const asked: (string | undefined)[] = [];
      const elsewhere = await serve(({ headers, url }, response) => {
        asked.push(`${url} ${headers.authorization}`);
        response.end('{}');
      });
      const here = await serve(page(status, { Location: `${elsewhere}/api/v1/instance/update` }));
      for (const command of ['status', 'update', 'follow', 'cancel', 'channel stable'])
        expect(await svc(here, `instance ${command}`, { env: { SVC_TOKEN: 'Zq7secret' } })).toMatchObject({
          exitCode: 2,
        });
      expect(asked).toEqual([]);
    },
  );

  it('that nobody answers says so', async () => {
    const url = await serve(() => {});
    const closed = createTcpServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const refused = await svc(`http://127.0.0.1:${port}`, 'instance status');
    expect(refused).toEqual({
      exitCode: 2,
      out: '',
      err: `Nothing answers at http://127.0.0.1:${port}: connection refused. Is svc up? Else see SVC_URL.\n`,
    });
    const late = await svc(`http://127.0.0.1:${port}`, 'instance follow');
    expect(late).toEqual({ ...refused, err: `${refused.err}${awayAdvice}` });
    const nowhere = await svc('http://svc.invalid', 'instance status');
    expect([nowhere.exitCode, nowhere.err]).toEqual([
      2,
      'There is no host svc.invalid (http://svc.invalid). See SVC_URL.\n',
    ]);
    const plain = await svc(url.replace('http:', 'https:'), 'instance status');
    expect([plain.exitCode, plain.err]).toEqual([
      2,
      expect.stringMatching(
        /^https:\/\/127\.0\.0\.1:\d+ does not speak TLS\. SVC_URL should perhaps be http:\/\/127\.0\.0\.1:\d+\n$/,
      ),
    ]);
  });

  it('that meets a wrong certificate says which setting trusts one', async () => {
    const server = createTlsServer(selfSigned(), problem(401, 'Log in first.') as never).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    afterTests(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { err, exitCode } = await svc(`https://127.0.0.1:${port}`, 'instance status');
    expect([exitCode, err]).toEqual([
      2,
      expect.stringMatching(
        /^The certificate at https:\/\/127\.0\.0\.1:\d+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Name the file of its authority in NODE_EXTRA_CA_CERTS\.\n$/,
      ),
    ]);
    const other = await svc(`https://localhost:${port}`, 'instance status');
    expect(other.err).toMatch(
      /^The certificate at https:\/\/localhost:\d+ is (?:not trusted|for another host)/,
    );
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

describe.concurrent('an update is followed through', () => {
  it.each<Disturbance>(['closed', 'bad-gateway', 'html', 'silence', 'logged-out'])(
    '%s',
    async (disturbed) => {
      const { url, asked } = await play(away(disturbed, 25));
      const { out, exitCode } = await svc(url, 'instance update');
      expect(exitCode, out).toBe(0);
      expect(out).toMatch(/\nreplaced, \d+ s\nverified, \d+ s\n✓ svc v1\.5\.0 runs\./);
      // It comes back with what it has seen, and not more often than its pauses let it.
      expect(asked.filter((one) => one.startsWith('GET /progress')).length).toBeLessThan(14);
    },
  );

  it('a server that knows nothing for a moment', async () => {
    const { url } = await play(away('unknown', 20));
    expect((await svc(url, 'instance update')).exitCode).toBe(0);
  });

  it('a server that has nothing to say for longer than it may be silent', async () => {
    const { url } = await play({
      runs: [{ steps: [{ state: 'pull', seconds: 4, says: ['pulling'] }], end: { outcome: 'updated' } }],
    });
    expect((await svc(url, 'instance update --timeout 2')).exitCode).toBe(0);
  });

  it('half an event, and half a stream', async () => {
    let streams = 0;
    const { url } = await play({
      speed: 4,
      intercept: ({ headers }) =>
        headers.get('accept') === 'text/event-stream' && streams++ < 3
          ? new Response('retry: 1000\n\n: here\n\nevent: run\nid: run1:1\ndata: {"id":"run1","sta', {
              headers: { 'Content-Type': 'text/event-stream' },
            })
          : undefined,
    });
    expect((await svc(url, 'instance update')).exitCode).toBe(0);
    expect(streams).toBeGreaterThan(3);
  });
});

describe.concurrent('it is not known what became of an update', () => {
  it('where svc never comes back', async () => {
    const { url } = await play(away('closed', 900));
    const { out, exitCode } = await svc(url, 'instance update --timeout 3');
    expect(exitCode).toBe(1);
    expect(out).toMatch(
      /\nsvc has not answered for 3 s: it is not known what became of the update\.\nOn the machine: docker logs svc-updater\. Once svc answers: svc instance follow\n$/,
    );
  });

  it('where it comes back and knows nothing of the run', async () => {
    const { url } = await play(away('unknown', 900));
    const { out, exitCode } = await svc(url, 'instance update', hurried);
    expect(exitCode).toBe(1);
    expect(out).toMatch(
      /\nsvc v1\.4\.2 answers and knows nothing of the update begun at \d\d:\d\d\. On the machine: docker logs svc-updater\n$/,
    );
  });

  it('where the connection fails before svc is replaced, and says that that is no end', async () => {
    const { url } = await play({
      speed: 10,
      runs: [{ steps: [{ state: 'pull', seconds: 900, disturbed: 'closed' }], end: { outcome: 'updated' } }],
    });
    const { out, exitCode } = await svc(url, 'instance update --timeout 3');
    expect([exitCode, out]).toEqual([
      1,
      expect.stringContaining('\nsvc has not answered for 3 s: it is not known what became of the update.\n'),
    ]);
    expect(out).not.toContain('away');
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
    const buildServers = [{ name: evil, version: evil, behind: true, command: evil }];
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
    expect(all).toContain(`Build servers: ${escaped} ${escaped} (behind)`);
  });
});
