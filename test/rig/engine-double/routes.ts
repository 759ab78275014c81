import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import type { ContainerDouble } from './container-double.ts';
import type { Asked } from './door.ts';
import type { Images } from './images.ts';
import type { Reply } from './reply.ts';
import { distribution, imageInspection, inspection, listed, versionAnswer } from './shapes.ts';

/** State that requests read and change. */
export interface EngineState {
  images: Images;
  /** In order of creation. */
  containers: ContainerDouble[];
  /** Finds a container by id, part of the id, or name; at a server's door also by the server's own host name. */
  find(name: string, door: string): ContainerDouble | null;
  create(spec: ContainerSpec, imageId: string): ContainerDouble;
  remove(container: ContainerDouble): void;
}

/** A rejected request, with the engine's message. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Handler = (state: EngineState, asked: Asked, reply: Reply) => void;
type ContainerHandler = (container: ContainerDouble, asked: Asked, reply: Reply, state: EngineState) => void;

const routes: readonly [method: string, path: RegExp, handler: Handler][] = [
  ['GET', /^\/version$/, (_, __, reply) => reply.json(200, versionAnswer)],
  ['GET', /^\/containers\/json$/, list],
  ['POST', /^\/containers\/create$/, create],
  ['GET', /^\/containers\/([^/]+)\/json$/, ofContainer(inspect)],
  ['GET', /^\/containers\/([^/]+)\/logs$/, ofContainer(logs)],
  ['POST', /^\/containers\/([^/]+)\/start$/, ofContainer(start)],
  ['PUT', /^\/containers\/([^/]+)\/archive$/, ofContainer(unpack)],
  ['POST', /^\/containers\/([^/]+)\/kill$/, ofContainer(kill, 'cannot kill container: %: ')],
  ['POST', /^\/containers\/([^/]+)\/rename$/, ofContainer(rename)],
  ['DELETE', /^\/containers\/([^/]+)$/, ofContainer(remove)],
  ['GET', /^\/images\/(.+)\/json$/, image],
  ['POST', /^\/images\/create$/, pull],
  ['GET', /^\/distribution\/(.+)\/json$/, ask],
];

/** Executes a request and sends the response. */
export function answer(state: EngineState, asked: Asked, reply: Reply): void {
  try {
    carryOut(state, asked, reply);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    reply.refuse(error.status, error.message);
  }
}

function carryOut(state: EngineState, asked: Asked, reply: Reply): void {
  const { method, path } = asked;
  const [, , handler] = routes.find(([verb, form]) => verb === method && form.test(path)) ?? [];
  if (!handler) throw new Refused(404, 'page not found');
  handler(state, asked, reply);
}

/** The part of the path between the type of object and the operation. */
const nameIn = ({ path }: Asked): string =>
  decodeURIComponent(
    path.replace(/^\/[^/]+\//, '').replace(/\/(?:json|logs|start|archive|kill|rename)$/, ''),
  );

function ofContainer(handler: ContainerHandler, before = ''): Handler {
  return (state, asked, reply) => {
    const name = nameIn(asked);
    const container = state.find(name, asked.door);
    if (!container) throw new Refused(404, `${before.replace('%', name)}No such container: ${name}`);
    handler(container, asked, reply, state);
  };
}

function list({ containers }: EngineState, { query }: Asked, reply: Reply): void {
  const {
    label = [],
    name = [],
    status = [],
  } = JSON.parse(query.get('filters') ?? '{}') as Record<string, string[]>;
  const has = ({ spec: { Labels: labels = {} } }: ContainerDouble, wanted: string) => {
    const [key = '', ...value] = wanted.split('=');
    return value.length === 0 ? key in labels : labels[key] === value.join('=');
  };
  const found = containers
    .filter((each) => ['1', 'true'].includes(query.get('all') ?? '') || each.isUp)
    .filter((each) => label.every((wanted) => has(each, wanted)))
    .filter((each) => status.length === 0 || status.includes(each.status))
    .filter((each) => name.length === 0 || name.some((part) => each.name.includes(part)));
  // Newest first.
  reply.json(
    200,
    found.toReversed().map((each) => listed(each)),
  );
}

function create(state: EngineState, { query, body }: Asked, reply: Reply): void {
  const name = query.get('name') ?? '';
  const spec = { ...JSON.parse(body), name } as ContainerSpec;
  const found = state.images.find(spec.Image);
  if (!found) throw new Refused(404, `No such image: ${spec.Image}`);
  const owner = ownerOf(state, name);
  if (owner) throw new Refused(409, taken(owner));
  reply.json(201, { Id: state.create(spec, found.id).id, Warnings: [] });
}

const ownerOf = ({ containers }: EngineState, name: string) => containers.find((each) => each.name === name);

const taken = ({ name, id }: ContainerDouble): string =>
  `Conflict. The container name "/${name}" is already in use by container "${id}". You have to remove (or rename) ` +
  'that container to be able to reuse that name.';

function inspect(container: ContainerDouble, _: Asked, reply: Reply): void {
  reply.json(200, inspection(container));
}

function start(container: ContainerDouble, _: Asked, reply: Reply): void {
  const isUp = container.isUp;
  if (!isUp) container.start();
  reply.empty(isUp ? 304 : 204);
}

function unpack(container: ContainerDouble, { query, body }: Asked, reply: Reply): void {
  container.archives.push({ folder: query.get('path') ?? '', body, status: container.status });
  reply.empty(200);
}

function kill(container: ContainerDouble, { query }: Asked, reply: Reply): void {
  const { id } = container;
  const signal = query.get('signal') ?? 'SIGKILL';
  const words = `cannot kill container: ${id}: `;
  if (!/^SIG(?:TERM|INT|KILL|HUP|QUIT)$/.test(signal))
    throw new Refused(400, `${words}invalid signal: ${signal}`);
  if (!container.isUp) throw new Refused(409, `${words}container ${id} is not running`);
  container.kill(signal);
  reply.empty(204);
}

function rename(container: ContainerDouble, { query }: Asked, reply: Reply, state: EngineState): void {
  const name = query.get('name') ?? '';
  if (name === container.name) {
    throw new Refused(400, 'Renaming a container with the same name as its current name');
  }
  const owner = ownerOf(state, name);
  if (owner) throw new Refused(409, taken(owner));
  container.name = name;
  reply.empty(204);
}

function remove(container: ContainerDouble, { query }: Asked, reply: Reply, state: EngineState): void {
  if (container.isUp && query.get('force') !== '1') {
    const message = `cannot remove container "/${container.name}": container is ${container.status}: stop the container before removing or force remove`;
    throw new Refused(409, message);
  }
  state.remove(container);
  reply.empty(204);
}

function logs(container: ContainerDouble, { query }: Asked, reply: Reply): void {
  reply.open(200, 'application/vnd.docker.multiplexed-stream');
  const stopFollowing = container.follow((entry) => {
    if (entry === null) return reply.end();
    const head = Buffer.alloc(8);
    head.writeUInt8(entry.output, 0);
    head.writeUInt32BE(Buffer.byteLength(entry.text), 4);
    reply.chunk(Buffer.concat([head, Buffer.from(entry.text)]));
  });
  void reply.finished.then(stopFollowing);
  if (query.get('follow') !== '1' && container.isRunning) {
    stopFollowing();
    reply.end();
  }
}

function image({ images }: EngineState, asked: Asked, reply: Reply): void {
  const reference = nameIn(asked);
  const found = images.find(reference);
  if (found) reply.json(200, imageInspection(found));
  else throw new Refused(404, `No such image: ${reference}`);
}

function pull({ images }: EngineState, { query }: Asked, reply: Reply): void {
  const [repository, tag] = [query.get('fromImage') ?? '', query.get('tag') ?? 'latest'];
  const lines = images.pull(repository, tag);
  if (!lines) {
    const message = `manifest for ${repository}:${tag} not found: manifest unknown: manifest unknown`;
    throw new Refused(404, message);
  }
  reply.open(200, 'application/json');
  for (const line of lines) reply.chunk(`${JSON.stringify(line)}\r\n`);
  reply.end();
}

function ask({ images }: EngineState, asked: Asked, reply: Reply): void {
  const digest = images.digestOf(nameIn(asked));
  if (digest) reply.json(200, distribution(digest));
  else throw new Refused(404, 'manifest unknown: manifest unknown');
}
