export type { InstanceUpdates, UpdateEvents, UpdateOrder } from '../contract/instance-updates.ts';
export {
  type Disturbance,
  type Script,
  type ScriptedEnd,
  type ScriptedJob,
  type ScriptedPendingStep,
  type ScriptedRun,
  type ScriptedStep,
  typicalRollback,
  typicalRun,
} from './script.ts';
export { createScriptedUpdates } from './scripted-updates.ts';
