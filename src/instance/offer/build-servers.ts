import { type Product, svc } from '../../progress/product.ts';
import { channelOf, isAhead } from '../../release/channel.ts';
import type { BuildServer } from '../../wire/status.ts';

/** What the host says of its build servers, as it is told; what is no build server is left out. */
export function readBuildServers(
  answer: unknown,
  version: string,
  { name: product }: Pick<Product, 'name'> = svc,
): BuildServer[] {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((one: unknown) => {
    const { name, version: given, command } = Object(one) as Record<string, unknown>;
    if (typeof name !== 'string' || typeof given !== 'string') return [];
    const own = /^\d/.test(given) ? `v${given}` : given;
    return [
      {
        name,
        version: own,
        behind: isBehind(own, version),
        command: typeof command === 'string' && command !== '' ? command : `${product} update`,
      },
    ];
  });
}

/** A build of no release is behind where it is another than what runs. */
export const isBehind = (own: string, version: string): boolean =>
  channelOf(own) === null || channelOf(version) === null ? own !== version : isAhead(version, own);
