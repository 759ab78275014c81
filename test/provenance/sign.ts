/** A publisher's key, and what makes a bundle: what makes releases makes those of the tests, too. */
export { publisher } from '../../scripts/lib/release/sign.ts';
