import { readContainerFile } from '../../engine/api/container-file.ts';
import { copiedPaths } from '../../engine/api/copied-files.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { InstanceFacts, ServiceContainers } from './dry-run.ts';
import { type Finding, lossWithout } from './judge-drift.ts';
import type { WrittenProject } from './read-written.ts';
import { type SetValue, unsetIn } from './written-text.ts';

const maxBytes = 1024 * 1024;

/** A config or a secret that compose copies into a container after it has made it. */
interface Copied {
  kind: 'config' | 'secret';
  source: string;
  path: string;
  content: string;
}

/**
 * Configs and secrets of a service that are not what compose has copied into its container. Where an inline config is
 * written with a variable that no file sets, a shell had it; the others were edited. One that the files do not have any
 * more is not found: the container does not tell who has put a file there.
 */
export async function findCopied(
  engine: Engine,
  installation: InstanceFacts,
  { name, containers }: ServiceContainers,
  { setTo, written: askWritten }: { setTo: SetValue; written: () => Promise<WrittenProject> },
): Promise<Finding[]> {
  const copied = copiedOf(installation, name, setTo);
  const [container] = containers;
  if (copied.length === 0 || container === undefined) return [];
  const written = await askWritten();
  const found = await Promise.all(
    copied.map(async ({ kind, source, path, content }): Promise<Finding[]> => {
      const file = await readContainerFile(engine, container.id, path, maxBytes);
      if (file === 'missing') return [edited(`${name}: ${kind} ${source} would be added`)];
      if (typeof file === 'string' || file.content.toString() === content) return [];
      const sentence = `${name}: ${kind} ${source} would change`;
      const texts = kind === 'config' ? written.textsOfConfig(source) : [];
      const variables = unsetIn(texts, setTo);
      return [variables.length > 0 ? lossWithout(variables, sentence, texts) : edited(sentence)];
    }),
  );
  return found.flat();
}

const edited = (sentence: string): Finding => ({ sentence, isLoss: false, remedy: { kind: 'apply' } });

function copiedOf({ model }: InstanceFacts, service: string, setTo: SetValue): Copied[] {
  return (['config', 'secret'] as const).flatMap((kind) =>
    (model.services[service]?.[`${kind}s`] ?? []).flatMap((reference): Copied[] => {
      const { content, environment } = model[`${kind}s`]?.[reference.source] ?? {};
      // Compose prints a dollar as two.
      const text = content?.replaceAll('$$', '$') ?? (environment ? setTo(environment) : null);
      const [path = ''] = copiedPaths({ [`${kind}s`]: [reference] });
      return text ? [{ kind, source: reference.source, path, content: text }] : [];
    }),
  );
}
