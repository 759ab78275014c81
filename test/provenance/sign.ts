/** Creates a publisher's key and signs with it, with the same code as for releases. */
export { publisher } from '../../scripts/lib/release/sign.ts';
