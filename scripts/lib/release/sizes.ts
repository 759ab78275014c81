// Prints each platform of a layout, and how many bytes a registry sends of it: sizes.ts FOLDER
import { readLayout } from './layout.ts';

const [folder = ''] = process.argv.slice(2);
const { platforms } = await readLayout(folder);
for (const [platform, { layers }] of Object.entries(platforms))
  console.log(
    platform,
    layers.reduce((sum, { size }) => sum + size, 0),
  );
