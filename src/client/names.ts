import { inCapitals, type Product, svc } from '../progress/product.ts';

/** Everything in this client that is called after the product. */
export interface Names {
  /** What the product is called, and what this client is typed by: `svc`. */
  name: string;
  /** Environment variables: where the server is, the token for it, and where releases are. */
  url: string;
  token: string;
  feed: string;
  /** What the client is published as. */
  asset: string;
  /** Of the updater, by which its log is read. */
  container: string;
  /** The web address of releases; null where only the environment may name one. */
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

/** Those of the product whose client this process is. */
export const names = (): Names => current;

/** Before anything is said: a process is the client of one product. */
export function setProduct(product: Product): void {
  current = namesOf(product);
}
