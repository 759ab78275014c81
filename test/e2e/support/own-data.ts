import { composeText } from '../../rig/compose-text.ts';
import type { Layout, LayoutContext } from '../../rig/layout.ts';

/** The plain instance, but for the folder of the app's that its database has mounted, too: nobody else writes in it. */
export const ownData = (c: LayoutContext): Layout => ({
  files: {
    'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts }).replace(
      ", './data/dump:/dump'",
      '',
    ),
    '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
  },
  flags: [],
});
