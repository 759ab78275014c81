import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** The addresses of a name, as the system resolves it. */
export type HostLookup = (name: string) => Promise<readonly { address: string }[]>;

/** This machine and the networks around it: what answers there may trust whoever can ask. */
const inner = new BlockList();
// https://www.iana.org/assignments/iana-ipv4-special-registry, and multicast.
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
  // What is mapped into IPv6 (::ffff:0:0/96) is found by this, too; what NAT64 translates is not.
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
 * Whether a host is on this machine or in a network around it, by its address, or by any of those that its name has. A name
 * that cannot be resolved is in neither: connecting to it will fail, and say why.
 */
export async function isInner(
  { hostname }: URL,
  resolve: HostLookup = (name) => lookup(name, { all: true }),
): Promise<boolean> {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare)) return isInnerAddress(bare);
  const addresses = await resolve(bare).catch(() => []);
  return addresses.some(({ address }) => isInnerAddress(address));
}

function isInnerAddress(address: string): boolean {
  // Behind it stands the interface of a link-local one.
  const [bare = ''] = address.split('%');
  return inner.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}
