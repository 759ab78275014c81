import type { Shape } from './shape.ts';

/** What recreating a container would change. Holds values: never log them. */
export interface Difference {
  /** Of the compose file: `environment`, `volumes`, `cap_add`. */
  section: string;
  /** `''` where the section is one value. */
  item: string;
  /** What the container has; null where it is new. */
  running: string | null;
  /** What it would be given; null where it goes. */
  planned: string | null;
}

export function findDifferences(running: Shape, planned: Shape): Difference[] {
  const differences: Difference[] = [];
  for (const section of new Set([...running.keys(), ...planned.keys()])) {
    const [now, then] = [running.get(section) ?? new Map(), planned.get(section) ?? new Map()];
    for (const item of new Set<string>([...now.keys(), ...then.keys()])) {
      const pair = { running: now.get(item) ?? null, planned: then.get(item) ?? null };
      if (pair.running !== pair.planned) differences.push({ section, item, ...pair });
    }
  }
  return withinNetworks(withoutChosenPorts(differences));
}

/** By the name of a network, too. */
const ofNetwork = new Set(['network address', 'network aliases', 'network options', 'links', 'mac_address']);

/** Where a network comes or goes, what the container has there goes with it, and is not told by itself. */
function withinNetworks(differences: readonly Difference[]): Difference[] {
  const others = new Set(differences.filter(({ section }) => section === 'networks').map(({ item }) => item));
  return differences.filter(({ section, item }) => !ofNetwork.has(section) || !others.has(item));
}

/** A port that compose took out of a published range. */
function withoutChosenPorts(differences: readonly Difference[]): Difference[] {
  const ports = differences.filter(({ section }) => section === 'ports');
  const chosen = new Set<Difference>();
  for (const now of ports.filter(({ running }) => running !== null)) {
    const then = ports.find(({ planned, item }) => planned !== null && isChosenFrom(now.item, item));
    if (then) chosen.add(now).add(then);
  }
  return differences.filter((each) => !chosen.has(each));
}

const publishedPort = /^(?:(.*):)?([\d-]+):([^:]+)$/;

function isChosenFrom(port: string, range: string): boolean {
  const [, address, published, target] = publishedPort.exec(port) ?? [];
  const [, otherAddress, otherPublished = '', otherTarget] = publishedPort.exec(range) ?? [];
  const [from, to] = otherPublished.split('-').map(Number);
  if (to === undefined || address !== otherAddress || target !== otherTarget) return false;
  return Number(published) >= (from ?? 0) && Number(published) <= to;
}
