import { parseReference } from '../../compose/reference.ts';
import type { Model } from '../../engine/cli/compose.ts';
import { compareVersions } from '../../release/order.ts';
import { parsePinTag } from '../../release/pin-tag.ts';
import { type Finding, lossWithout } from './judge-drift.ts';
import { resolveText, type SetValue, unsetIn } from './written-text.ts';

/** Secrets and configs of a service that are made of a variable that no file sets: compose would start it without. */
export function findUnsetSecrets(model: Model, service: string, setTo: SetValue): Finding[] {
  const own = model.services[service];
  return (['secrets', 'configs'] as const).flatMap((kind) =>
    (own?.[kind] ?? []).flatMap(({ source }): Finding[] => {
      const variable = model[kind]?.[source]?.environment;
      if (!variable || setTo(variable) !== null) return [];
      return [lossWithout([variable], `${service}: ${kind.slice(0, -1)} ${source} would be lost`)];
    }),
  );
}

/** What runs, what the files name, and the texts that they name it by. */
export interface NamedImage {
  running: string;
  inFiles: string | undefined;
  texts: readonly string[];
  /** The variable whose default the tag is, in the place where it is written: a file that is included may set it. */
  byDefault?: string | undefined;
}

/** An image that the files name otherwise because a variable of it was in a shell alone: the shell chose what runs. */
export function findUnsetImage(
  service: string,
  { running, inFiles, texts, byDefault }: NamedImage,
  setElsewhere: SetValue,
): Finding[] {
  if (inFiles === undefined || inFiles === running) return [];
  const setTo: SetValue = (name) => (name === byDefault ? null : setElsewhere(name));
  const variables = unsetIn(texts, setTo);
  if (variables.length === 0) return [];
  const loss = lossWithout(variables, `${service}: the files say ${inFiles}, not ${running}`);
  const line = variables
    .flatMap((name) => shellLine(name, running, { texts, setTo }))
    .sort((a, b) => a.length - b.length)[0];
  const remedy = { kind: 'set', variables, hasDefault: isNewer(inFiles, running) } as const;
  return [{ ...loss, remedy: line === undefined ? remedy : { ...remedy, line } }];
}

/**
 * Whether an edit of a default may be behind it, which an `up` carries out. Where the files lead to a floating tag, or
 * to an older release, an `up` would bring what nobody has asked for.
 */
function isNewer(inFiles: string, running: string): boolean {
  const [then, now] = [inFiles, running].map((text) => parsePinTag(parseReference(text)?.tag ?? ''));
  return (
    then?.kind === 'release' && (now?.kind !== 'release' || compareVersions(then.version, now.version) > 0)
  );
}

/** `TAG=v1.0.0`, with which the files name what runs; none where no value of this variable does that. */
function shellLine(
  variable: string,
  running: string,
  { texts, setTo }: { texts: readonly string[]; setTo: SetValue },
): string[] {
  const mark = '\0';
  return texts.flatMap((text) => {
    const resolvedWith = (value: string) =>
      resolveText(text, (name) => (name === variable ? value : setTo(name))).resolved;
    const [before, after, ...more] = resolvedWith(mark)?.split(mark) ?? [];
    if (before === undefined || after === undefined || more.length > 0) return [];
    const value = running.slice(before.length, running.length - after.length);
    return resolvedWith(value) === running ? [`${variable}=${value}`] : [];
  });
}
