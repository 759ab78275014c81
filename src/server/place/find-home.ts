import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import type { Container } from '../../engine/container.ts';
import { EngineFault } from '../../engine/http/fault.ts';
import { swarmLabels } from '../../engine/labels.ts';
import { findOwnContainer, ownTraces } from '../../engine/own-container.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import { type Home, noCompose, readHome } from './home.ts';
import { engineUnreachable, HomeNotFound } from './home-not-found.ts';
import { stackCommands } from './manual-commands.ts';
import { checkMounts } from './probe.ts';
import { swarmPeers } from './services.ts';

/** Finds where the server lives, and tries whether the engine's machine has what an updater needs. @throws HomeNotFound */
export async function findHome(engine: EngineSocket, settings: Settings): Promise<Home> {
  const traces = await ownTraces();
  const { id } = traces;
  const isSocket = engine.path.startsWith('/');
  if (isSocket && !existsSync(engine.path)) {
    throw id !== null || existsSync('/.dockerenv')
      ? new HomeNotFound('no-engine', `the engine's socket is not mounted at ${engine.path}`)
      : new HomeNotFound('not-compose', noCompose);
  }
  try {
    await refusePodman(engine);
    const own = await findOwnContainer(
      {
        inspect: (name) => engine.inspect(name),
        inNetworkOf: async (id) =>
          (await engine.list({ status: ['running'] }))
            .filter(({ networkMode }) => networkMode === `container:${id}`)
            .map((each) => each.id),
      },
      traces,
    );
    if (own === null) {
      throw id === null
        ? new HomeNotFound('not-compose', noCompose)
        : new HomeNotFound(
            'no-engine',
            `this server's container is not running on the engine at ${engine.path}`,
          );
    }
    await refuseSwarm(engine, own, settings);
    const realSocket = isSocket ? await realpath(engine.path).catch(() => engine.path) : '';
    const home = readHome(own, settings, realSocket);
    await checkMounts(engine, home, settings.product);
    return home;
  } catch (error) {
    throw error instanceof EngineFault ? engineUnreachable(engine, error) : error;
  }
}

/** Podman answers most of what is asked here, and the updater could not do its work there (docs/contract.md 8.24). */
async function refusePodman(engine: EngineSocket): Promise<void> {
  const product = await engine.product();
  if (!product?.startsWith('Podman')) return;
  throw new HomeNotFound(
    'no-engine',
    `the engine at ${engine.path} is Podman, but updates need Docker Engine: Podman does not report registry digests and cannot change the restart policy of a running container`,
  );
}

async function refuseSwarm(engine: EngineSocket, own: Container, settings: Settings): Promise<void> {
  const service = own.labels[swarmLabels.service];
  if (!service) return;
  throw new HomeNotFound(
    'swarm',
    `the server is a task of the Swarm service ${service}, so only Swarm can replace its containers`,
    { manual: stackCommands(own, settings, await swarmPeers(engine, own.labels, settings.product)) },
  );
}
