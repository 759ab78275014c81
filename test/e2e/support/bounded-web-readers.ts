// Readers of the responses of feeds, notification services and products, each with an adversary.

import { downloadAsset } from '../../../src/client/self-update/download-asset.ts';
import { followRedirects } from '../../../src/feed/follow-redirects.ts';
import { readFeedPage } from '../../../src/feed/read-page.ts';
import { readAsset } from '../../../src/feed/read-proof.ts';
import { Notifier } from '../../../src/notify/notifier.ts';
import { ProductCallbackClient } from '../../../src/server/serve/product-callback-client.ts';
import { serve, serveHeaders } from './adversary.ts';
import { aborted, deadlineFor, each, late, type Reader } from './bounded-reader.ts';

const never = new AbortController().signal;
const assetAt = (url: string) => ({ name: 'file', url });
export const readers: Reader[] = [
  {
    name: 'page of a feed',
    read: async (flow) => {
      const { url } = await serve(flow);
      return readFeedPage(new URL(url), { url }, null, never);
    },
    ends: each(/a page is larger than 8 MiB/, /no complete response within 10 s/),
  },
  {
    name: 'file of a release',
    read: async (flow) => {
      const { url } = await serve(flow);
      return readAsset(assetAt(url), { feed: { url }, signal: never, deadline: deadlineFor(flow) });
    },
    ends: each(/larger than 256 KiB/, late),
  },
  {
    name: 'redirect of a feed',
    read: async (flow) => {
      const { url } = await serve(flow, { status: 302 });
      return followRedirects(new URL(url), { feed: { url }, headers: {}, signal: never });
    },
    ends: each(/redirects more than 5 times/),
  },
  {
    name: 'download of the client',
    read: async (flow) => {
      const { url } = await serve(flow);
      const limits = {
        maximumSilenceMs: 5_000,
        maximumDurationMs: deadlineFor(flow),
        maximumBytes: 1024 ** 2,
      };
      return downloadAsset({ asset: assetAt(url), feed: url, limits, signal: never });
    },
    ends: each(/the file is larger than 1024 KiB/, /not complete after 2\.4 s/),
  },
  {
    name: 'response to a notification',
    read: async (flow) => notify((await serve(flow)).url),
    ends: each(/^posted$/),
  },
  {
    name: 'response headers of a notification',
    read: async (flow) => notify((await serveHeaders(flow)).url),
    ends: each(/: (?:headers overflow error|UND_ERR_HEADERS_OVERFLOW)/i, /no response before the timeout/),
  },
  {
    name: 'callback of the product',
    read: async (flow) => {
      const product = { callbacksUrl: (await serve(flow)).url, secret: 'secret' };
      const client = new ProductCallbackClient(product, {
        request: deadlineFor(flow),
        attempts: 1,
        pause: 1,
        repeat: 60_000,
      });
      return client.jobs().finally(() => client.close());
    },
    ends: each(/the response to GET jobs is too large/, aborted),
  },
];

/** Posts a notification. Returns its failure. */
async function notify(url: string): Promise<string> {
  const failures: string[] = [];
  const notifier = new Notifier('svc', (failure) => failures.push(failure), []);
  notifier.addresses = [url];
  notifier.send({ event: 'started', message: 'x' });
  const isDone = await notifier.close(8_000);
  return isDone ? (failures[0] ?? 'posted') : 'not posted in time';
}
