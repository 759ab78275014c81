import { withProjectOptions } from './inspect/choose-workers.ts';
import { type FoundInstance, findInstance } from './inspect/find-instance.ts';
import { type Ending, repeatEnding } from './log/ending.ts';
import { and } from './log/wording.ts';
import type { CommandLine } from './process/command-line.ts';
import type { FirstContext, RunContext } from './process/run-context.ts';
import { endedBefore, finishRun, type RunKind } from './resume/finish-run.ts';
import type { RunSoFar } from './resume/run-so-far.ts';
import { isStackInstead } from './stack/index.ts';

/** The story of a command. */
export interface Story {
  kind: RunKind;
  /** The options of the context include the settings file and the workers of the project; the command line does not. */
  onProject(
    context: RunContext,
    instance: FoundInstance,
    soFar: RunSoFar,
    line: CommandLine,
  ): Promise<Ending>;
  /** Gives the exit code. Without it, the command only works for a compose project. */
  onStack?(given: FirstContext): Promise<number>;
}

/** Finds the project, reads its settings file, chooses the workers and tells the story. Gives the exit code. */
export async function runOnInstance(given: FirstContext, story: Story): Promise<number> {
  const { kind, onProject, onStack } = story;
  if (onStack && given.options.stack.name !== null) return onStack(given);
  const [search] = await Promise.allSettled([findInstance(given)]);
  if (onStack && search.status === 'rejected' && (await isStackInstead(given, search.reason)))
    return onStack(given);
  return finishRun(
    given,
    async (soFar) => {
      if (search.status === 'rejected') throw search.reason;
      const instance = search.value;
      warnOfStackOptions(given);
      if (kind !== 'look') {
        soFar.instance = instance;
        const ended = await endedBefore(instance);
        if (ended !== null) return repeatEnding(ended, given.log);
      }
      const context = await withProjectOptions(given, instance.place);
      return onProject(context, instance, soFar, given.line);
    },
    kind,
  );
}

/** Only for options of the command line: the files in a settings file may be meant for `bump`. */
function warnOfStackOptions({ options: { stack }, log }: FirstContext): void {
  const typed = [...(stack.files.length > 0 ? ['--file'] : []), ...(stack.stopFirst ? ['--stop-first'] : [])];
  if (typed.length > 0)
    log.warn(`ignoring ${and(typed)}, because this is a compose project and not a Swarm stack`);
}
