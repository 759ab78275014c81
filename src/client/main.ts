import { svc } from '../progress/product.ts';
import { createClient } from './create-client.ts';

/** The bundler puts it in. */
const built = process.env.SVC_UPDATER_BUILD_VERSION;
/** Where releases are looked for without `SVC_FEED`; the bundler may put another address in. */
const feed = process.env.SVC_UPDATER_BUILD_FEED ?? svc.feed;
/** Whose releases are believed: the text of a file. */
const trust = process.env.SVC_UPDATER_BUILD_TRUST;

// It ends the process itself. Nothing waits for it at the top of the module, which has to become CommonJS in an executable; where
// nothing is left to do before it has ended, that is a failure, and Node's own code for it.
process.exitCode = 13;
void createClient(
  { ...svc, feed },
  { version: built === undefined ? 'dev' : `v${built}`, ...(trust && { trust }) },
).run();
