import type { ProductOptions } from 'svc-updater/client';

/** The product. All other fields have defaults derived from the name. */
export const product: ProductOptions = {
  name: 'larder',
  services: ['web', 'jobs'],
  feed: 'https://api.github.com/repos/acme/larder/releases',
};
