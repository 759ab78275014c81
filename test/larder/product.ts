import type { ProductOptions } from 'svc-updater/client';

/** All that is said of larder, in one place: what is left out comes from the name. */
export const product: ProductOptions = {
  name: 'larder',
  services: ['web', 'jobs'],
  feed: 'https://api.github.com/repos/acme/larder/releases',
};
