// The forge as a separate program, for a demo that keeps running after its script. Settings come from the environment.
import { startForge } from './forge.ts';

const {
  UPSTREAM = '',
  ADDRESS = '',
  ASSETS = '',
  FEED_PORT,
  REGISTRY_PORT,
  PUBLISHED = '',
  PACE,
} = process.env;
const ports = { feed: Number(FEED_PORT), registry: Number(REGISTRY_PORT) };
const forge = await startForge({ upstream: UPSTREAM, address: ADDRESS, assets: ASSETS, ports });
for (const version of PUBLISHED.split(' ')) forge.publish(version);
forge.slow(Number(PACE));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
console.log(`releases at ${forge.url}, images at ${forge.registry}`);
