import { svc } from '../core/progress/product.ts';
import { createClient } from './create-client.ts';

/** Set by the bundler. */
const built = process.env.SVC_UPDATER_BUILD_VERSION;
/** The default of `SVC_FEED`. The bundler may set another address. */
const feed = process.env.SVC_UPDATER_BUILD_FEED ?? svc.feed;
/** The content of the trust file. */
const trust = process.env.SVC_UPDATER_BUILD_TRUST;

// The client exits the process. There is no top-level await, because the executable is built as CommonJS. Should the event loop
// become empty before that, the process fails with Node's own code for this case.
process.exitCode = 13;
void createClient(
  { ...svc, feed },
  { version: built === undefined ? 'dev' : `v${built}`, ...(trust && { trust }) },
).run();
