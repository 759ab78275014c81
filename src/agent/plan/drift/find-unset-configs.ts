import { readContainerFile } from '../../../engine/api/container-file.ts';
import { copiedPaths } from '../../../engine/api/copied-files.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { Installation, ServiceFacts } from '../../inspect/installation.ts';
import { type Finding, lossWithout } from './judge-drift.ts';
import { readWritten } from './read-written.ts';
import { type SetValue, unsetInAll } from './written-text.ts';

const maxBytes = 1024 * 1024;

/**
 * Inline configs of a service that differ from what compose has copied into its container, and are written with a
 * variable that no file sets: a shell had it. Others were edited, or are as they were.
 */
export async function findUnsetConfigs(
  engine: Engine,
  installation: Installation,
  { name, containers }: ServiceFacts,
  setTo: SetValue,
): Promise<Finding[]> {
  const { model } = installation;
  const inline = (model.services[name]?.configs ?? []).filter(
    ({ source }) => model.configs?.[source]?.content,
  );
  const [container] = containers;
  if (inline.length === 0 || container === undefined) return [];
  const written = await readWritten(installation);
  const found = await Promise.all(
    inline.map(async (config): Promise<Finding[]> => {
      const texts = written.textsOfConfig(config.source);
      const variables = unsetInAll(texts, setTo);
      if (variables.length === 0) return [];
      const [path = ''] = copiedPaths({ configs: [config] });
      const file = await readContainerFile(engine, container.id, path, maxBytes);
      const content = model.configs?.[config.source]?.content ?? '';
      // Compose prints a dollar as two.
      if (typeof file === 'string' || file.content.toString() === content.replaceAll('$$', '$')) return [];
      return [lossWithout(variables, `${name}: config ${config.source} would change`, texts)];
    }),
  );
  return found.flat();
}
