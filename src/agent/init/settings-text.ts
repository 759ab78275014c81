import { svc } from '../../progress/product.ts';
import type { Undecided } from '../data/declare.ts';
import { type Choice, describeService } from '../inspect/services/choices.ts';
import type { ServiceImage } from '../inspect/services/together.ts';
import { and } from '../log/wording.ts';
import { usualSeconds } from '../process/option-table.ts';
import type { InitOptions } from '../process/options.ts';

/** Beside the services what was given with `init` is written down. */
type Given = Pick<InitOptions, 'leave' | 'versionVariable' | 'waitTimeoutMs' | 'pullTimeoutMs'>;

/** What compose, and so `bump`, finds by itself. */
const usualName = /^(?:docker-)?compose(?:\.override)?\.ya?ml$/;

/**
 * The settings file, with what its readers want to know of it.
 * @param files the compose files in their order, those of the directory by their names
 */
export function settingsText(
  {
    app,
    workers,
    others,
    undecided,
  }: Choice & {
    others: readonly ServiceImage[];
    undecided: readonly Undecided[];
  },
  given: Given,
  files: readonly string[],
): string {
  const { leave, versionVariable, waitTimeoutMs, pullTimeoutMs } = given;
  const hasUsualNames = files.every((name) => usualName.test(name));
  const lines = [
    '# Read by svc-updater (update, plan and bump); what is given as an option wins.',
    '# The first is the app, the others move with it.',
    'services:',
    ...[app, ...workers].map((each) => `  - ${scalar(each.name)}  # ${describePin(each)}`),
    others.length > 0 && `# As they are: ${and(others.map(describeService))}`,
    leave.length > 0 && `# Of the app, and left at ${leave.length > 1 ? 'their' : 'its'} version.`,
    leave.length > 0 && `leave: [${leave.map(scalar).join(', ')}]`,
    ...dataLines(undecided),
    !hasUsualNames && '# For bump, which asks no engine.',
    !hasUsualNames && `files: ${JSON.stringify(files)}`,
    versionVariable !== svc.versionVariable && `version-var: ${versionVariable}`,
    waitTimeoutMs !== usualSeconds.wait * 1000 && `wait-timeout: ${waitTimeoutMs / 1000}`,
    pullTimeoutMs !== usualSeconds.pull * 1000 && `pull-timeout: ${pullTimeoutMs / 1000}`,
  ];
  return lines.flatMap((line) => (line === false ? [] : `${line}\n`)).join('');
}

/** Excluding data is a decision for a person: such entries are comments. */
function dataLines(undecided: readonly Undecided[]): string[] {
  const canSave = ({ proposal }: Undecided): boolean => proposal === 'save';
  if (undecided.length === 0) return [];
  return [
    '# Restore points (--restore-point) save the data of the services above and of those that they depend on, and:',
    `${undecided.some(canSave) ? '' : '# '}data:`,
    ...undecided
      .toSorted((a, b) => Number(canSave(b)) - Number(canSave(a)))
      .map((each) => {
        const line = `  ${scalar(each.key)}: ${each.proposal}  # ${each.source}`;
        return canSave(each) ? line : `# ${line}; cannot be saved: remove the first # to accept that`;
      }),
  ];
}

/** Without the line, which the next edit moves. */
const describePin = (each: ServiceImage): string => pinOf(each).replace(/ line \d+$/, '');

/** `ghcr.io/acme/server, pinned by TAG in .env line 4` */
export const pinOf = ({ reference: { repository }, pin }: ServiceImage): string =>
  pin === null
    ? `${repository}, whose pin cannot be moved as it is written`
    : `${repository}, pinned by ${pin.place.description}`;

/** Quoted where YAML would take the name for something else. */
const scalar = (name: string): string =>
  /^[A-Za-z_][\w.-]*$/.test(name) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name);
