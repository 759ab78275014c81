import { type Product, svcProduct, toCapitals } from '../../core/names/product.ts';

/** Returns the names in this client that depend on the product. */
const namesOf = ({ name, containerName, feed }: Product) => ({
  /** Name of the product and of the client's command: `svc` */
  name,
  /** Names of the environment variables with the server address, the token, and the address of the releases. */
  url: `${toCapitals(name)}_URL`,
  token: `${toCapitals(name)}_TOKEN`,
  feed: `${toCapitals(name)}_FEED`,
  /** File name of the client in a release. */
  asset: `${name}.mjs`,
  /** Name of the updater's container, for commands that show its log. */
  container: containerName,
  /** Web address of the releases that is built into the client; null if the environment must specify the address. */
  releases: feed,
});

let current = namesOf(svcProduct);

/** Returns the names of the product that this client is built for. */
export const getProductNames = () => current;

/** Sets the product of this process. Must be called once, before any output. */
export function setProduct(product: Product): void {
  current = namesOf(product);
}
