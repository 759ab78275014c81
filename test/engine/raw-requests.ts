import type { EngineApi } from '../../src/engine/engine-api.ts';
import { chunked, empty, frame, measured } from './raw-engine.ts';

const never = new AbortController().signal;
const container = JSON.stringify({
  ...{ Id: 'c'.repeat(64), Name: '/x', Created: '2026-11-21T10:00:00Z', Image: 'sha256:1' },
  ...{ State: { Status: 'running' }, Config: { Cmd: ['update'], Env: ['A=ü'] }, HostConfig: {} },
});
const login = { username: 'u', password: 'p', serveraddress: 'registry' };

/** A request to the engine, with a correct response. */
export interface Question {
  answer: Buffer;
  ask(engine: EngineApi): Promise<unknown>;
}

const spec = { name: 'x', Image: 'y' };
export const questions: Readonly<Record<string, Question>> = {
  inspect: {
    answer: chunked([container.slice(0, 90), container.slice(90)]),
    ask: (e) => e.inspectContainer('x'),
  },
  list: { answer: measured('[{"Id":"1"}]'), ask: (e) => e.listContainers({ label: ['x=y'] }) },
  product: { answer: measured('{"Components":[{"Name":"Engine"}]}'), ask: (e) => e.getFacts() },
  image: {
    answer: measured('{"Id":"sha256:1","RepoDigests":[]}'),
    ask: (e) => e.inspectImage('acme/svc:v1'),
  },
  remoteDigest: {
    answer: chunked(['{"Descriptor":{"digest":"sha256:1"}}']),
    ask: (e) => e.inspectRemoteImage('acme/svc:latest', login),
  },
  create: {
    answer: measured('{"Id":"1","Warnings":[]}', '201 Created'),
    ask: (e) => e.createContainer(spec),
  },
  start: { answer: empty(), ask: (e) => e.startContainer('1') },
  rename: { answer: empty(), ask: (e) => e.renameContainer('1', 'y') },
  remove: { answer: empty(), ask: (e) => e.removeContainer('1') },
  refusal: { answer: measured('{"message":"in use"}', '409 Conflict'), ask: (e) => e.removeContainer('1') },
  pull: {
    answer: chunked([
      '{"status":"Pulling fs layer","id":"a"}\r\n',
      '{"status":"Pull complete","id":"a"}\r\n',
    ]),
    ask: (e) =>
      e.pullImage({
        repository: 'acme/svc',
        tag: 'v1',
        credentials: login,
        onProgress: () => {},
        signal: never,
      }),
  },
  logs: {
    answer: chunked([frame('one\ntwo\n'), frame('three\n', 2)], 'application/vnd.docker.multiplexed-stream'),
    ask: async (e) => {
      const lines: string[] = [];
      for await (const line of e.followLog('1', never)) lines.push(line);
      return lines;
    },
  },
};
/** Response to the version request, which is sent first. */
export const version = measured('{"ApiVersion":"1.45","MinAPIVersion":"1.24"}');
