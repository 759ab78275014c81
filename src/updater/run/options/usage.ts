import { formatOptionUsage } from '../../../core/command-line/option-row.ts';
import { fillFields } from '../../../core/errors/advice.ts';
import { type Product, roleLabelOf, svcProduct } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import {
  bumpOptionTable,
  enableOptionTable,
  environmentVariableOf,
  optionsByCommand,
  rollbackOptionTable,
  type UpdaterCommand,
  type UpdaterOptionTable,
  updateOptionTable,
} from './option-table.ts';

const traceHelp =
  'SVC_UPDATER_TRACE=1 prints the duration of each child process and each engine request to standard error.';

/** Lists the options that the command shares with `update`. */
function formatSharedOptions(command: UpdaterCommand, end: string): string {
  const names = Object.keys(optionsByCommand[command]).filter((name) => name in updateOptionTable);
  const [last, ...others] = names.map((name) => `--${name}`).reverse();
  const title = command === 'restore-point' ? 'restore-point rm' : command;
  const text = `Options for ${title}: ${others.reverse().join(', ')} and ${last} as above${end}`;
  return text.replaceAll(/(.{1,120})(?:$| )/g, '$1\n').trimEnd();
}

/** The output of `--help`. Environment variables are listed only for svc, because only its users set them. */
export function formatUsage(product: Product): string {
  const { name, versionVariable, containerName } = product;
  const [app, ...workers] = product.services;
  const services =
    workers.length > 0
      ? `${app} and all services labelled ${roleLabelOf(product)}=worker; if no service has this label, ${app} and ${workers.join(', ')}`
      : `${app} and all services labelled ${roleLabelOf(product)}=worker`;
  const isSvc = product === svcProduct;
  const heading = isSvc
    ? 'Options for update, plan and fetch, with their environment variables in brackets:'
    : 'Options for update, plan and fetch:';
  /** Descriptions begin in column 30. */
  const linesOf = (table: UpdaterOptionTable): string =>
    Object.entries(table)
      .map(([option, row]) => {
        const example = row.isList ? '=a,b' : row.value === undefined ? '=1' : '';
        const variable = isSvc ? ` [${environmentVariableOf(option)}${example}]` : '';
        const text = fillFields(row.help, { services, versionVariable }).replace(' []', variable);
        return `${`  ${formatOptionUsage(option, row)}`.padEnd(30)}${text.replaceAll('\n', `\n${' '.repeat(30)}`)}\n`;
      })
      .join('');
  return `${name}-updater updates a running ${name} instance to another release.
If the update fails before the new version starts, the instance is restored.

  ${name}-updater [update] [options]   Update the instance in the mounted directory (default command)
  ${name}-updater plan [options]       Show what update would do, without changing anything
  ${name}-updater fetch [options]      Download the images for an update, without changing running containers (not for a stack)
  ${name}-updater rehearse [options]   Start the new version on a copy of the data, without changing anything
  ${name}-updater rollback [options]   Restore version and data from the restore point (dry run without --yes)
  ${name}-updater restore-point rm     Remove the restore point
  ${name}-updater bump [options]       Change version pins in files, without an engine
  ${name}-updater enable [options]     Add what the button on the product's page needs to the compose file (dry run without --yes)
  ${name}-updater explain [CODE]       Explain the code of a refused or failed update; without CODE, list all codes
  ${name}-updater report > FILE        Write an archive (tar.gz) for an issue: log, plan and versions, without secrets
  ${name}-updater serve                Run an HTTP service with status, dialog and automatic updates for any product
  ${name}-updater --help | --version

${heading}
${linesOf(updateOptionTable)}
${formatSharedOptions('rehearse', '.')}
${formatSharedOptions('rollback', ', and:')}
${linesOf(rollbackOptionTable)}
${formatSharedOptions('restore-point', '.')}
${formatSharedOptions('report', '.')}

Options for bump:
${linesOf(bumpOptionTable)}
${formatSharedOptions('enable', ', and:')}
${linesOf(enableOptionTable)}
Settings of an instance can be stored in ${settingsFileName} in its compose directory. Options and variables override them.

Mount the engine socket (this gives root access to the host) and the compose directory at the same path as on the host:
  docker run --rm --name ${containerName} --stop-timeout 120 \\
    -v /var/run/docker.sock:/var/run/docker.sock -v /opt/${name}:/opt/${name} ${name}-updater --target v1.5.0
For a private registry, add the credentials of the host: -v ~/.docker/config.json:/root/.docker/config.json:ro

${isSvc ? `${traceHelp}\n\n` : ''}Exit codes: 0 updated, unchanged, fetched or rehearsed, 1 crashed, 2 usage error, 3 refused (nothing was changed),
4 failed (the old version is running), 5 broken (manual action required), 130 and 143 cancelled.
`;
}
