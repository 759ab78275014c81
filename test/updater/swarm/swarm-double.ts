// The API of a Swarm without engines: specs are stored as written, and each test supplies the tasks.

import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../../../src/engine/objects/json.ts';
import { parseJsonOrNull } from '../../../src/engine/objects/json.ts';
import type { SwarmNode, SwarmTask } from '../../../src/engine/swarm/swarm-service.ts';

interface Versioned {
  ID: string;
  Version: { Index: number };
  Spec: Json;
  PreviousSpec?: Json;
}

export interface SwarmDouble {
  answer: RequestListener;
  services: Map<string, Versioned>;
  /** All specs written to services, in order. */
  written: { service: string; spec: Json }[];
  nodes: SwarmNode[];
  /** Returns the current tasks at each poll. */
  tasks: (double: SwarmDouble) => SwarmTask[];
  /** Delay of the response for a path, in milliseconds. The response contains the state at the request. */
  delay: (path: string) => number;
  /** Called after each write to a service. A returned status replaces the response 200. */
  afterWrite: ((double: SwarmDouble) => { status: number; message: string } | null) | null;
}

export function swarmDouble(services: Readonly<Record<string, Json>>, nodes: SwarmNode[]): SwarmDouble {
  const configs: Versioned[] = [];
  let index = 1;
  const double: SwarmDouble = {
    services: new Map(
      Object.entries(services).map(([ID, Spec]) => [ID, { ID, Version: { Index: index++ }, Spec }] as const),
    ),
    written: [],
    nodes,
    tasks: () => [],
    delay: () => 0,
    afterWrite: null,
    answer: async (from, to) => {
      const url = new URL(from.url ?? '', 'http://engine');
      const path = url.pathname.replace(/^\/v[\d.]+/, '');
      const body = parseJsonOrNull(await textOf(from)) ?? {};
      const say = async (status: number, said: unknown) => {
        const text = JSON.stringify(said);
        await sleep(double.delay(path));
        to.writeHead(status).end(text);
      };
      const [, kind = '', id = '', verb = ''] = path.split('/');
      if (path === '/services') return say(200, [...double.services.values()]);
      if (path === '/tasks') return say(200, double.tasks(double).map(taskJson));
      if (path === '/nodes') return say(200, double.nodes.map(nodeJson));
      if (path === '/configs') return say(200, configs);
      if (path === '/configs/create') {
        configs.push({ ID: 'config', Version: { Index: index++ }, Spec: body });
        return say(201, { ID: 'config' });
      }
      const one = kind === 'configs' ? configs.find(({ ID }) => ID === id) : double.services.get(id);
      if (!one || verb !== 'update') return say(404, { message: 'no such thing' });
      if (one.Version.Index !== Number(url.searchParams.get('version')))
        return say(500, { message: 'rpc error: code = Unknown desc = update out of sequence' });
      if (kind === 'services') {
        one.PreviousSpec = one.Spec;
        double.written.push({ service: id, spec: body });
      }
      one.Spec = body;
      one.Version.Index = index++;
      const instead = kind === 'services' ? (double.afterWrite?.(double) ?? null) : null;
      return instead === null ? say(200, {}) : say(instead.status, { message: instead.message });
    },
  };
  return double;
}

async function textOf(from: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of from) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const taskJson = (task: SwarmTask): Json => ({
  ...{
    ID: task.id,
    ServiceID: task.service,
    Slot: task.slot,
    NodeID: task.node,
    DesiredState: task.desiredState,
  },
  Status: { State: task.state, Err: task.error },
  Spec: { ContainerSpec: { Image: task.image } },
});

const nodeJson = (node: SwarmNode): Json => ({
  ID: node.id,
  Description: { Hostname: node.name, Platform: { OS: node.os, Architecture: node.arch } },
  Spec: { Role: node.role, Availability: node.availability },
  Status: { State: node.state },
});
