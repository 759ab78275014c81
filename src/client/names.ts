import { inCapitals, type Product, svc } from '../core/progress/product.ts';

/** The names in this client that depend on the product. */
const namesOf = ({ name, containerName, feed }: Product) => ({
  /** The product and the command of this client: `svc`. */
  name,
  /** Environment variables: the address of the server, its token, and the address of the releases. */
  url: `${inCapitals(name)}_URL`,
  token: `${inCapitals(name)}_TOKEN`,
  feed: `${inCapitals(name)}_FEED`,
  /** The file name of the client in a release. */
  asset: `${name}.mjs`,
  /** The name of the updater's container, used to read its log. */
  container: containerName,
  /** The built-in web address of the releases; null if it must be set in the environment. */
  releases: feed,
});

let current = namesOf(svc);

/** The names of the product that this client is built for. */
export const names = () => current;

/** Must be called before any output. A process is the client of one product. */
export function setProduct(product: Product): void {
  current = namesOf(product);
}
