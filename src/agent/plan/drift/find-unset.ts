import type { Model } from '../../../engine/cli/compose.ts';
import { type Finding, lossWithout } from './judge-drift.ts';
import { type SetValue, unsetInAll } from './written-text.ts';

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

/** Made again from its image's id, a container has no other reference. */
const isId = /^(sha256:)?[0-9a-f]{12,64}$/;

/** An image that the files name otherwise because a variable of it was in a shell alone: the shell chose what runs. */
export function findUnsetImage(
  service: string,
  { running, inFiles, texts }: { running: string; inFiles: string | undefined; texts: readonly string[] },
  setTo: SetValue,
): Finding[] {
  if (inFiles === undefined || inFiles === running || isId.test(running)) return [];
  const variables = unsetInAll(texts, setTo);
  if (variables.length === 0) return [];
  return [lossWithout(variables, `${service}: the files say ${inFiles}, not ${running}`, texts)];
}
