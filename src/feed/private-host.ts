import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

export type HostLookup = (name: string) => Promise<readonly { address: string }[]>;

/** Addresses of this machine and of private networks. Services there may trust every client that can reach them. */
const inner = new BlockList();
// Special-purpose addresses from https://www.iana.org/assignments/iana-ipv4-special-registry, and multicast addresses.
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  // These entries also match IPv4 addresses mapped into IPv6 (::ffff:0:0/96), but not addresses translated by NAT64.
  inner.addSubnet(network, bits, 'ipv4');
  inner.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6');
}
for (const [network, bits] of [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const)
  inner.addSubnet(network, bits, 'ipv6');

/**
 * Checks whether a host is this machine or in a private network. Returns false if the name cannot be resolved, because
 * the connection then fails anyway.
 */
export async function isPrivateHost(
  { hostname }: URL,
  resolve: HostLookup = (name) => lookup(name, { all: true }),
): Promise<boolean> {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare)) return isInnerAddress(bare);
  const addresses = await resolve(bare).catch(() => []);
  return addresses.some(({ address }) => isInnerAddress(address));
}

function isInnerAddress(address: string): boolean {
  // A link-local address may end with `%` and the name of an interface.
  const [bare = ''] = address.split('%');
  return inner.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}
