import { phases } from '../../src/core/progress/event.ts';

/** Phases of an update without a restore point, which saves no data (docs/contract.md 2.1). */
export const plainPhases = phases.filter((phase) => phase !== 'save');
