import { type Product, svcProduct, toVariablePrefix } from '../../core/names/product.ts';

const namesOf = ({ name, containerName, feed }: Product) => ({
  /** Name of the product, which is also the client's command: `svc`. */
  name,
  /** Environment variables: server address, token, and address of the releases. */
  url: `${toVariablePrefix(name)}_URL`,
  token: `${toVariablePrefix(name)}_TOKEN`,
  feed: `${toVariablePrefix(name)}_FEED`,
  /** File name of the client in a release. */
  asset: `${name}.mjs`,
  /** Name of the updater container, for `docker logs`. */
  container: containerName,
  /** Built-in address of the releases. If null, only the environment can set an address. */
  releases: feed,
});

let current = namesOf(svcProduct);

/** Returns the names for the current product, which is svc until `setProductNames` is called. */
export const getProductNames = () => current;

/** Sets the current product. This must happen before any output. */
export function setProductNames(product: Product): void {
  current = namesOf(product);
}
