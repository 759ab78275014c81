import type { Engine } from '../cli/engine.ts';
import type { EngineAnswer } from '../http/request.ts';
import { askApi } from './api.ts';
import type { Json } from './blueprint.ts';

/** Puts a container, running or not, on a network; `endpoint` as in `Blueprint.networks`. Status 200 where it is done. */
export const connectNetwork = (
  engine: Engine,
  network: string,
  id: string,
  endpoint: Json,
): Promise<EngineAnswer> =>
  askApi(engine, {
    method: 'POST',
    path: `/networks/${encodeURIComponent(network)}/connect`,
    body: { Container: id, EndpointConfig: endpoint },
  });
