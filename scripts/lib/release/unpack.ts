// Unpacks what a layout has for a platform: unpack.ts LAYOUT PLATFORM FOLDER. Of layers that take nothing away.
import { readLayout } from './layout.ts';
import { runTar } from './run-tar.ts';

const [layout = '', platform = '', folder = ''] = process.argv.slice(2);
const image = await readLayout(layout);
const own = image.platforms[platform];
if (own === undefined) throw new Error(`${layout} has no image for ${platform}`);
for (const layer of own.layers)
  await runTar(image, layer, ['--extract', '--no-same-owner', '--directory', folder]);
