import { expect } from 'vitest';
import type { EngineSocket } from '../../src/engine/socket.ts';
import type { EngineDouble } from '../rig/engine-double/engine-double.ts';

const never = new AbortController().signal;
const reference = { repository: 'acme/svc-updater', tag: 'v1.0.0' };
const image = 'acme/svc-updater:v1.0.0';
const spec = { name: 'svc-updater', Image: image, Labels: { 'svc-updater.to': 'v1.5.0 – ü' } };

export interface Question {
  /** The request that it comes to. */
  match: RegExp;
  /** What there is before it is asked. */
  prepare?(engine: EngineDouble): void;
  /** Its answer, as far as a caller has got one; what is told before a fault is kept in `told`. */
  ask(client: EngineSocket, told: unknown[]): Promise<unknown>;
  /** What that is; of a refusal the beginning of `409 Conflict…`. */
  gives: unknown;
}

export const updater = (engine: EngineDouble) => engine.create(spec);
const running = (engine: EngineDouble) => updater(engine).start();
const ended = (engine: EngineDouble) => {
  const container = updater(engine);
  container.start();
  for (const line of ['one', 'zwölf', 'three\nfour']) container.say(line, line === 'one' ? 2 : 1);
  container.exit(0);
};
const published = (engine: EngineDouble) => void engine.images.publish(image);
const workerLabels = { 'com.docker.compose.project': 'svc', 'com.docker.compose.service': 'worker' };
const workers = { label: Object.entries(workerLabels).map(([key, value]) => `${key}=${value}`) };
const inspected = /^GET .*\/containers\/[^/]*\/json/;
const logged = async (client: EngineSocket, told: unknown[]) => {
  for await (const line of client.logs('svc-updater', never)) told.push(line);
  return told;
};

/** Each of the library's, and what there can be to answer. */
export const questions: Readonly<Record<string, Question>> = {
  inspect: {
    match: inspected,
    prepare: running,
    ask: (e) => e.inspect('svc-updater'),
    gives: expect.objectContaining({ name: 'svc-updater', status: 'running', labels: spec.Labels }),
  },
  'inspect of none': { match: inspected, ask: (e) => e.inspect('svc-updater'), gives: null },
  list: {
    match: /^GET .*\/containers\/json/,
    prepare: (engine) =>
      ['a', 'b'].map((name) =>
        engine.create({
          ...{ name: `x-${name}`, Image: image },
          Labels: workerLabels,
        }),
      ),
    ask: (e) => e.list(workers),
    gives: [{}, {}].map(() => expect.objectContaining({ labels: workerLabels, networkMode: 'svc_default' })),
  },
  'list of none': {
    match: /^GET .*\/containers\/json/,
    ask: (e) => e.list(workers),
    gives: [],
  },
  image: {
    match: /^GET .*\/images\//,
    prepare: updater,
    ask: (e) => e.image(image),
    gives: expect.objectContaining({ digests: [expect.stringMatching(/^acme\/svc-updater@sha256:/)] }),
  },
  'image of none': { match: /^GET .*\/images\//, ask: (e) => e.image(image), gives: null },
  remoteDigest: {
    match: /distribution/,
    prepare: published,
    ask: (e) => e.remoteDigest(image, null),
    gives: expect.stringMatching(/^sha256:/),
  },
  'remoteDigest of none': {
    match: /distribution/,
    ask: (e) => e.remoteDigest(image, null),
    gives: '404 manifest unknown',
  },
  create: {
    match: /\/create\?name/,
    prepare: (engine) => engine.images.add(image),
    // Each engine gives another id.
    ask: async (e) => /^[0-9a-f]{64}$/.test(await e.create(spec)),
    gives: true,
  },
  'create with a name that is taken': {
    match: /\/create\?name/,
    prepare: updater,
    ask: (e) => e.create(spec),
    gives: '409 Conflict. The container name "/svc-updater" is already in use',
  },
  start: { match: /\/start$/, prepare: updater, ask: (e) => e.start('svc-updater'), gives: undefined },
  'start of what runs': {
    match: /\/start$/,
    prepare: running,
    ask: (e) => e.start('svc-updater'),
    gives: undefined,
  },
  kill: { match: /\/kill\?/, prepare: running, ask: (e) => e.kill('svc-updater', 'SIGTERM'), gives: true },
  'kill of what has ended': {
    match: /\/kill\?/,
    prepare: ended,
    ask: (e) => e.kill('svc-updater', 'SIGTERM'),
    gives: false,
  },
  'kill of none': { match: /\/kill\?/, ask: (e) => e.kill('svc-updater', 'SIGTERM'), gives: false },
  rename: {
    match: /\/rename\?/,
    prepare: updater,
    ask: (e) => e.rename('svc-updater', 'other'),
    gives: undefined,
  },
  remove: { match: /^DELETE/, prepare: ended, ask: (e) => e.remove('svc-updater'), gives: undefined },
  'remove of what runs': {
    match: /^DELETE/,
    prepare: running,
    ask: (e) => e.remove('svc-updater'),
    gives: '409 cannot remove container "/svc-updater": container is running',
  },
  'remove of none': { match: /^DELETE/, ask: (e) => e.remove('svc-updater'), gives: undefined },
  pull: {
    match: /images\/create/,
    prepare: published,
    ask: (e) => e.pull(reference, null, () => {}, never),
    gives: undefined,
  },
  'pull of what is here': {
    match: /images\/create/,
    prepare: updater,
    ask: (e) => e.pull(reference, null, () => {}, never),
    gives: undefined,
  },
  'pull of none': {
    match: /images\/create/,
    ask: (e) => e.pull(reference, null, () => {}, never),
    gives: '404 manifest for acme/svc-updater:v1.0.0 not found',
  },
  logs: { match: /\/logs\?/, prepare: ended, ask: logged, gives: ['one', 'zwölf', 'three', 'four'] },
  'logs of one that says nothing': { match: /\/logs\?/, prepare: updater, ask: logged, gives: [] },
  'logs of none': { match: /\/logs\?/, ask: logged, gives: '404 No such container: svc-updater' },
};
