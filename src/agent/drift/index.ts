// Drift: the files say something else by now than what the containers were made from. A container that runs well is then
// replaced by one that nobody has ever seen run, as somebody has edited the files without an `up`, or as a shell had
// variables that no file sets.
//
// Held against each other, for every container that the update would replace:
// - what the engine says of the container, less what its image and the engine itself have added (`runningDefinition`), and
// - what compose would send for it with the files as they are: compose is asked for an `up` against a recorder in the
//   engine's place (`dry-run.ts`, `recorder.ts`), which writes the request down and makes nothing (`plannedDefinition`).
// Both come into one shape (`shape.ts`), and their differences are judged (`judge-drift.ts`; docs/contract.md 4.2, 4.9): what
// would be lost, and rights over the machine that would be gained, are refused unless drift is accepted; all else is a
// warning. What the files say of a difference (`written-text.ts`) tells which variable only a shell can have had.
//
// Networks and volumes are held by what compose would do with them (docs/contract.md 4.7): it would remove an edited network.
//
// Not held: containers that the update leaves alone, and what a program inside has changed.

export { checkDrift } from './check-drift.ts';
export { type DryRun, dryRun, recordUp } from './dry-run.ts';
export { releaseGains } from './find-gains.ts';
