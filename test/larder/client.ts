import { createClient } from 'svc-updater/client';
import { product } from './product.ts';

await createClient(product, { version: process.env.BUILD_VERSION ?? 'dev' }).run();
