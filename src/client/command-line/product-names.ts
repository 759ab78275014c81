import { type Product, svcProduct, toVariablePrefix } from '../../core/names/product.ts';

const namesOf = ({ name, containerName, feed }: Product) => ({
  /** Name of the product, which is also the client's command: `svc`. */
  name,
  /** Names of the environment variables for the server address, the token and the address of the releases. */
  url: `${toVariablePrefix(name)}_URL`,
  token: `${toVariablePrefix(name)}_TOKEN`,
  feed: `${toVariablePrefix(name)}_FEED`,
  /** File name of the client in a release. */
  asset: `${name}.mjs`,
  /** Name of the updater container, for `docker logs`. */
  container: containerName,
  /** Address of the releases that is built into the client. If it is null, only the environment can set an address. */
  releases: feed,
});

let current = namesOf(svcProduct);

/** Returns the names for the current product, which is svc until `setProductNames` is called. */
export const getProductNames = () => current;

/** Sets the current product. This must happen before any output. */
export function setProductNames(product: Product): void {
  current = namesOf(product);
}
