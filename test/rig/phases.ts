import { phases } from '../../src/core/progress/event.ts';

/** Of an update that was asked for no restore point: it keeps no data (docs/contract.md 2.1). */
export const plainPhases = phases.filter((phase) => phase !== 'save');
