import { svcProduct } from '../core/progress/product.ts';
import { createClient } from './create-client.ts';

/** Version, set by the bundler. */
const built = process.env.SVC_UPDATER_BUILD_VERSION;
/** Default of `SVC_FEED`. The bundler may set another address. */
const feed = process.env.SVC_UPDATER_BUILD_FEED ?? svcProduct.feed;
/** Content of the trust file. */
const trust = process.env.SVC_UPDATER_BUILD_TRUST;

// The client exits the process explicitly. There is no top-level await, because the executable is built as CommonJS. If
// the event loop becomes empty first, the process exits with the code that Node uses for an unsettled top-level await.
process.exitCode = 13;
void createClient(
  { ...svcProduct, feed },
  { version: built === undefined ? 'dev' : `v${built}`, ...(trust && { trust }) },
).run();
