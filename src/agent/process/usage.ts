import { type Product, roleLabelOf, svc } from '../../progress/product.ts';
import { settingsName } from '../../progress/state-name.ts';
import { bumpTable, type OptionTable, rollbackTable, updateTable, variableOf } from './option-table.ts';

/** What `--help` prints. The variables are of those who make a product, and svc's operators have always had them. */
export function usageOf(product: Product): string {
  const { name, versionVariable, containerName } = product;
  const [app, ...workers] = product.services;
  const otherwise = workers.length > 0 ? `, else ${workers.join(', ')}` : '';
  const services = `${app}, and the services labelled ${roleLabelOf(product)}: worker${otherwise}`;
  const isSvc = product === svc;
  /** What is said of an option begins in column 28. */
  const linesOf = (table: OptionTable): string =>
    Object.entries(table)
      .map(([option, { value = '', isList, help }]) => {
        const example = isList ? '=a,b' : value === '' ? '=1' : '';
        return `${`  --${option} ${value}`.padEnd(28)}${help.replaceAll('\n', `\n${' '.repeat(28)}`)}\n`
          .replace(' []', isSvc ? ` [${variableOf(option)}${example}]` : '')
          .replace('{services}', services)
          .replace('{versionVariable}', versionVariable);
      })
      .join('');
  return `${name}-updater: replaces the app and the worker of a running ${name} instance by a new release,
or leaves it exactly as it was.

  ${name}-updater [update] [options]   update the instance in the mounted directory (the default)
  ${name}-updater plan [options]       show what update would do; changes nothing
  ${name}-updater fetch [options]      pull what update would pull (not of a stack, nor with data); changes nothing that runs
  ${name}-updater rollback [options]   restore version and data of the restore point; a dry run without --yes
  ${name}-updater restore-point rm     take the restore point away
  ${name}-updater bump [options]       edit version pins in files only; needs no engine
  ${name}-updater --help | --version

update, plan and fetch${isSvc ? ' (environment variable in brackets)' : ''}:
${linesOf(updateTable)}
rollback: --project, --dir, --container, --service, --exclude, --version-var, --wait-timeout, --restore-dir, --log as above
${linesOf(rollbackTable)}
restore-point rm: --project, --dir, --container, --restore-dir, --log as above

update, plan, fetch, rollback and bump take from ${settingsName} what no option and no variable says.

bump:
${linesOf(bumpTable)}
Run it with the engine's socket, which gives it root's power over the host, and the compose directory at its own path:
  docker run --rm --name ${containerName} --stop-timeout 120 \\
    -v /var/run/docker.sock:/var/run/docker.sock -v /opt/${name}:/opt/${name} ${name}-updater --target v1.5.0
For a private registry add the logins of the host: -v ~/.docker/config.json:/root/.docker/config.json:ro

${isSvc ? 'SVC_UPDATER_TRACE=1 tells on standard error what took its time: each child process and each request to the engine.\n\n' : ''}Exit codes: 0 updated, unchanged or fetched, 1 crashed, 2 usage, 3 refused (nothing changed), 4 failed (the old version runs),
5 broken (a person must look), 130 and 143 cancelled.
`;
}
