import { Store } from './store.ts';

const stores = new Map<string, Store>();

/** The one store of this page to an address, which has no slash at its end. */
export function storeOf(address: string): Store {
  const store = stores.get(address) ?? new Store(address);
  stores.set(address, store);
  return store;
}
