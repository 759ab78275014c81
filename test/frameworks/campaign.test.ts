import { gateFrameworks, otherFrameworks } from './frameworks.ts';
import { tryFramework } from './try-framework.ts';

for (const framework of [...gateFrameworks, ...otherFrameworks])
  tryFramework(framework, { withHotReload: true });
