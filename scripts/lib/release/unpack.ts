// Unpacks what a layout has for a platform: unpack.ts LAYOUT PLATFORM FOLDER. Of layers that take nothing away.
import { execFileSync } from 'node:child_process';
import { readLayout } from './layout.ts';

const [layout = '', platform = '', folder = ''] = process.argv.slice(2);
const { platforms, path } = await readLayout(layout);
const own = platforms[platform];
if (own === undefined) throw new Error(`${layout} has no image for ${platform}`);
for (const { digest } of own.layers)
  execFileSync('tar', [
    '--extract',
    '--gzip',
    '--no-same-owner',
    '--file',
    path(digest),
    '--directory',
    folder,
  ]);
