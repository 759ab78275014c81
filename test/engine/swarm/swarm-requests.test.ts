import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/cli/engine.ts';
import {
  createSwarmConfig,
  createSwarmService,
  findSwarmConfig,
  listSwarmServices,
  listSwarmTasks,
  readSwarmManagerInfo,
  removeSwarmConfig,
  removeSwarmService,
  updateSwarmConfigLabels,
  updateSwarmService,
} from '../../../src/engine/swarm/swarm-requests.ts';
import { engineThat } from '../http-engine.ts';

type Answer = [status: number, body: unknown] | 'hangs';

/** Returns these responses in order, then repeats the last one. */
async function answering(...answers: Answer[]): Promise<{ engine: Engine; asked: string[] }> {
  const asked: string[] = [];
  const engine = await engineThat((from, to) => {
    asked.push(`${from.method} ${decodeURIComponent((from.url ?? '').replaceAll('+', ' '))}`);
    const answer = answers[Math.min(asked.length, answers.length) - 1] ?? 'hangs';
    if (answer !== 'hangs') to.writeHead(answer[0]).end(JSON.stringify(answer[1]));
  });
  return { engine, asked };
}

const says = (status: number, message: string): Answer => [status, { message }];
const late = says(500, 'rpc error: code = DeadlineExceeded desc = context deadline exceeded');
const leaderless = says(
  500,
  'rpc error: code = Unknown desc = The swarm does not have a leader. It’s possible that too few managers are online.',
);
const sequence = says(500, 'rpc error: code = Unknown desc = update out of sequence');
const config = { id: 'c', name: 'x', version: 3, labels: {}, data: 'd' };
const service = { id: 's', name: 'svc_app', version: 7 };

describe('a Swarm without a leader', () => {
  it.each<[string, Answer]>([
    ['an answer that came too late for it', late],
    ['one that says so', leaderless],
    ['one of a manager that looks for it', says(503, 'rpc error: code = Unknown desc = raft: stopped')],
  ])('receives the request again after %s', async (_, answer) => {
    const { engine, asked } = await answering(answer, answer, [200, []]);
    expect(await listSwarmServices(engine, {})).toEqual([]);
    expect(asked).toHaveLength(3);
  });

  it('receives the request again after a request that hangs', async () => {
    const { engine, asked } = await answering('hangs', [200, []]);
    expect(await listSwarmServices(engine, {})).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, Answer]>([
    ['another failure', says(500, 'something went wrong')],
    ['a refusal', says(403, 'context deadline exceeded')],
    [
      'no manager',
      says(
        503,
        'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm and try again.',
      ),
    ],
  ])('does not receive the request again after %s', async (_, answer) => {
    const { engine, asked } = await answering(answer);
    await expect(listSwarmServices(engine, {})).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(asked).toHaveLength(1);
  });

  it('may already have executed a repeated write, so the caller reads the object again', async () => {
    const { engine, asked } = await answering(late, sequence);
    expect(await updateSwarmService(engine, service, {}, {})).toBe('moved');
    expect(asked).toEqual(Array(2).fill('POST /services/s/update?version=7'));
    expect(
      await createSwarmConfig((await answering(leaderless, says(409, 'AlreadyExists'))).engine, config),
    ).toBe('taken');
    await createSwarmService(
      (await answering(leaderless, says(409, 'AlreadyExists'))).engine,
      { Name: 'x' },
      {},
    );
  });
});

describe('writes', () => {
  it.each<[Answer, 'written' | 'moved']>([
    [[200, {}], 'written'],
    [sequence, 'moved'],
  ])('return for the response %j: %s', async (answer, done) => {
    expect(await updateSwarmService((await answering(answer)).engine, service, {}, {})).toBe(done);
    expect(await updateSwarmConfigLabels((await answering(answer)).engine, config, {})).toBe(done);
  });

  it('report an error with the message of the engine', async () => {
    const { engine } = await answering(says(400, 'only updates to Labels are allowed'));
    await expect(updateSwarmConfigLabels(engine, config, {})).rejects.toThrow(
      'change the config x: only updates to Labels are allowed',
    );
    await expect(createSwarmConfig(engine, config)).rejects.toThrow('create the config x');
    await expect(updateSwarmService(engine, service, {}, {})).rejects.toThrow('change the service svc_app');
  });

  it('send the given credentials', async () => {
    let auth: unknown;
    const engine = await engineThat((from, to) => {
      auth = from.headers['x-registry-auth'];
      to.end('{}');
    });
    await updateSwarmService(engine, service, {}, { 'X-Registry-Auth': 'abc' });
    expect(auth).toBe('abc');
  });

  it('accept that the object is already removed', async () => {
    const { engine } = await answering(says(404, 'no such thing'));
    await removeSwarmConfig(engine, config);
    await removeSwarmService(engine, 's');
    expect(await findSwarmConfig(engine, 'x')).toBeNull();
  });
});

describe('queries', () => {
  it('find a config by its full name, not by a prefix', async () => {
    const of = (Name: string) => ({ ID: Name, Version: { Index: 1 }, Spec: { Name, Data: '' } });
    const { engine } = await answering([200, [of('svc-updater.svc2'), of('svc-updater.svc')]]);
    expect(await findSwarmConfig(engine, 'svc-updater.svc')).toMatchObject({ name: 'svc-updater.svc' });
    expect(await findSwarmConfig(engine, 'svc-updater.sv')).toBeNull();
  });

  it('send no request for tasks if the list of services is empty', async () => {
    const { engine, asked } = await answering([200, []]);
    expect([await listSwarmTasks(engine, []), asked]).toEqual([[], []]);
    await listSwarmTasks(engine, ['a', 'b']);
    expect(asked).toEqual(['GET /tasks?filters={"service":["a","b"]}']);
  });

  it.each<[string, Answer[], unknown]>([
    [
      'a manager',
      [
        [200, {}],
        [200, { Spec: { Orchestration: { TaskHistoryRetentionLimit: 0 } } }],
        [200, { Swarm: { NodeID: 'n1' } }],
      ],
      { nodeId: 'n1', taskHistoryLimit: 0 },
    ],
    [
      'a manager without a leader',
      [leaderless, [200, {}], [200, { Swarm: { NodeID: 'n1' } }]],
      { nodeId: 'n1', taskHistoryLimit: 5 },
    ],
    ['a worker', [says(503, 'This node is not a swarm manager.')], null],
  ])('read the Swarm membership of %s', async (_, answers, place) => {
    expect(await readSwarmManagerInfo((await answering(...answers)).engine)).toEqual(place);
  });
});
