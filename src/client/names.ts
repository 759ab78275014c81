import { inCapitals, type Product, svc } from '../core/progress/product.ts';

/** The names in this client that depend on the product. */
export interface Names {
  /** The product and the command of this client: `svc`. */
  name: string;
  /** Environment variables: the address of the server, its token, and the address of the releases. */
  url: string;
  token: string;
  feed: string;
  /** The file name of the client in a release. */
  asset: string;
  /** The name of the updater's container, used to read its log. */
  container: string;
  /** The built-in web address of the releases; null if it must be set in the environment. */
  releases: string | null;
}

const namesOf = ({ name, containerName, feed }: Product): Names => ({
  name,
  url: `${inCapitals(name)}_URL`,
  token: `${inCapitals(name)}_TOKEN`,
  feed: `${inCapitals(name)}_FEED`,
  asset: `${name}.mjs`,
  container: containerName,
  releases: feed,
});

let current: Names = namesOf(svc);

/** The names of the product that this client is built for. */
export const names = (): Names => current;

/** Must be called before any output. A process is the client of one product. */
export function setProduct(product: Product): void {
  current = namesOf(product);
}
