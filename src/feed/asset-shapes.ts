import * as z from 'zod/mini';
import type { Asset } from '../release/channel.ts';

const asset = z.union([
  // https://docs.github.com/en/rest/releases/assets; Gitea and Forgejo have the same shape.
  z.pipe(
    z.object({ name: z.string(), browser_download_url: z.string() }),
    z.transform(({ name, browser_download_url }) => ({ name, url: browser_download_url })),
  ),
  // A link of https://docs.gitlab.com/api/releases/links, and what a static file says.
  z.object({ name: z.string(), url: z.string() }),
]);

const gitLabAssets = z.object({ links: z.array(z.unknown()) });
const list = z.array(z.unknown());

/** The files that an entry of a feed says are attached to its release; what does not parse is left out. */
export function assetsOf(value: unknown): Asset[] {
  const entries = gitLabAssets.safeParse(value).data?.links ?? list.safeParse(value).data ?? [];
  return entries.flatMap((entry) => asset.safeParse(entry).data ?? []);
}
