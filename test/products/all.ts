import { dify } from './dify.ts';
import { withoutVersions } from './no-version.ts';
import { others } from './others.ts';
import { immich, nextcloud, paperless } from './photos-and-files.ts';
import type { Product } from './product.ts';
import { authentik, gitea, homeAssistant, n8n, plausible } from './work-and-home.ts';

/** All tested products. */
export const products: readonly Product[] = [
  immich,
  paperless,
  nextcloud,
  n8n,
  gitea,
  authentik,
  plausible,
  homeAssistant,
  ...others,
  dify,
  ...withoutVersions,
];
