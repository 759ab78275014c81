import { svcProduct } from '../core/names/product.ts';
import { createClient } from './create-client.ts';

/** Version of this build, set by the bundler. */
const built = process.env.SVC_UPDATER_BUILD_VERSION;
/** Default of `SVC_FEED`; the bundler may set a different one. */
const feed = process.env.SVC_UPDATER_BUILD_FEED ?? svcProduct.feed;
/** Content of the trust file, set by the bundler. */
const trust = process.env.SVC_UPDATER_BUILD_TRUST;

// Exit code if the event loop becomes empty before the client exits. Node sets 13 only for an unsettled top-level
// await, which a CommonJS executable cannot contain.
process.exitCode = 13;
void createClient(
  { ...svcProduct, feed },
  { version: built === undefined ? 'dev' : `v${built}`, ...(trust && { trust }) },
).run();
