import type { Right } from '../../engine/rights.ts';
import type { Difference } from './find-differences.ts';
import type { ShapedMount } from './mounts-and-ports.ts';
import { hasDefault } from './written-text.ts';

/** What helps against one thing that would be taken. */
export type Remedy =
  /** A default that stands in the files may also have been edited since. `line` is the very one, where it can be told. */
  | { kind: 'set'; variables: readonly string[]; hasDefault: boolean; line?: string }
  | { kind: 'home' }
  | { kind: 'proxies' }
  | { kind: 'join'; network: string }
  | { kind: 'rights' }
  | { kind: 'apply' };

/** One thing that recreating would change, by name and never by value. */
export interface Finding {
  /** `app: environment variable DB_HOST would be emptied` */
  sentence: string;
  /** Refused unless drift is accepted; else a warning. */
  isLoss: boolean;
  remedy: Remedy;
}

/** What would be taken because only a shell had these variables. @param texts what the files say of it */
export const lossWithout = (
  variables: readonly string[],
  sentence: string,
  texts: readonly string[] = [],
): Finding => ({
  sentence: `${sentence}${noFileSets(variables)}`,
  isLoss: true,
  remedy: { kind: 'set', variables, hasDefault: hasDefault(texts) },
});

const noFileSets = (variables: readonly string[]): string => ` (no file sets ${variables.join(' and ')})`;

/** What the files tell of a difference. */
export interface WrittenFacts {
  /** Variables in its text that no file sets; only a shell can have had them. */
  unset: readonly string[];
  /** What the files say of it; nothing where no file has a word of it. */
  texts: readonly string[];
  /** The home directory that compose sees. */
  home: string;
}

/** Variables that every shell has. */
const ofEveryShell = ['HOME', 'PWD'];

/** Decides what is a loss, and what helps (docs/contract.md 4.2). */
export function judgeDifference(service: string, difference: Difference, facts: WrittenFacts): Finding {
  const unset = facts.unset.length > 0 ? noFileSets(facts.unset) : '';
  return {
    sentence: `${service}: ${sentenceOf(difference)}${unset}`,
    isLoss: facts.unset.length > 0 || isTaken(difference),
    remedy: remedyFor(difference, facts),
  };
}

/** What is gained over the host is refused like a loss: whoever wrote it may not be who runs the update. */
export function judgeGain(service: string, gain: Right, { unset, texts }: WrittenFacts): Finding {
  const sentence = `${service}: ${gain.name} would be given to it`;
  if (unset.length > 0) return lossWithout(unset, sentence, texts);
  return { sentence, isLoss: true, remedy: { kind: 'rights' } };
}

/** A mount, a published port, a network or a variable that changes in a way that loses something. */
function isTaken({ section, running, planned }: Difference): boolean {
  if (running === null) return false;
  switch (section) {
    case 'volumes':
    case 'ports':
    case 'networks':
    case 'network address':
    case 'network_mode':
    case 'volumes_from':
      return true;
    case 'environment':
      return running !== '""' && (planned === null || planned === '""');
    default:
      return false;
  }
}

function sentenceOf(difference: Difference): string {
  const { section, item, running, planned } = difference;
  if (section === 'volumes' && running !== null) return mountSentence(item, running, planned);
  const name = nameOf(section, item);
  if (running === null) return `${name} would be added`;
  if (section === 'environment' && planned === '""') return `${name} would be emptied`;
  if (planned === null) return `${name} would be dropped`;
  return section === 'network_mode' || section === 'container_name'
    ? `${name} would change from ${running.slice(0, 40)} to ${planned.slice(0, 40)}`
    : `${name} would change`;
}

function mountSentence(target: string, running: string, planned: string | null): string {
  const now = readMount(running);
  if (planned === null) {
    return now.source === ''
      ? `the ${now.type === 'volume' ? 'anonymous volume' : now.type} at ${target} would be dropped`
      : `the mount of ${now.source} at ${target} would be dropped`;
  }
  const then = readMount(planned);
  if (now.type === then.type && now.source === then.source)
    return `the mount at ${target} would become ${then.readOnly ? 'read-only' : 'writable'}`;
  const from = (mount: ShapedMount) =>
    mount.source || (mount.type === 'volume' ? 'an anonymous volume' : mount.type);
  return `the mount at ${target} would move from ${from(now)} to ${from(then)}`;
}

const readMount = (text: string): ShapedMount => ({ source: '', readOnly: false, ...JSON.parse(text) });

function nameOf(section: string, item: string): string {
  switch (section) {
    case 'environment':
      return `environment variable ${item}`;
    case 'labels':
      return `label ${item}`;
    case 'volumes':
      return `a mount at ${item}`;
    case 'ports':
      return `published port ${item}`;
    case 'networks':
      return `network ${item}`;
    case 'network_mode':
      return 'network mode';
    default:
      return item === '' ? section : `${section} ${item}`;
  }
}

const proxy = /^(https?|ftp|all|no)_proxy$/i;

function remedyFor({ section, item, planned }: Difference, facts: WrittenFacts): Remedy {
  const variables = facts.unset.filter((name) => !ofEveryShell.includes(name));
  if (variables.length > 0) return { kind: 'set', variables, hasDefault: hasDefault(facts.texts) };
  if (facts.unset.includes('HOME') || (section === 'volumes' && isIn(facts.home, planned)))
    return { kind: 'home' };
  if (section === 'environment' && facts.texts.length === 0 && proxy.test(item)) return { kind: 'proxies' };
  if (section === 'networks' && planned === null) return { kind: 'join', network: item };
  return { kind: 'apply' };
}

const isIn = (home: string, planned: string | null): boolean =>
  planned !== null && readMount(planned).source.startsWith(`${home}/`);

/**
 * What to do next, for all that is lost together.
 * @param where the env file for new lines, and what to say of another that may not be mounted
 */
export function adviceFor(
  remedies: readonly Remedy[],
  { envFile, above }: { envFile: string; above: string | null },
): string {
  const of = <K extends Remedy['kind']>(kind: K) =>
    remedies.filter((remedy): remedy is Extract<Remedy, { kind: K }> => remedy.kind === kind);
  const lines = [
    ...new Set(
      of('set').flatMap(({ variables, line }) => (line ? [line] : variables.map((name) => `${name}=…`))),
    ),
  ];
  const networks = [...new Set(of('join').map(({ network }) => network))];
  return [
    ...(lines.length > 0
      ? [`Add ${lines.join(', ')} to ${envFile}, with what the shell had that started the instance.`]
      : []),
    ...(lines.length > 0 && above !== null ? [above] : []),
    ...(of('set').some((remedy) => remedy.hasDefault)
      ? ['Where no shell had it, and its default was edited since, run docker compose up -d first.']
      : []),
    ...(of('home').length > 0
      ? ['Add -e HOME=… to the docker run command, the home of who started the instance.']
      : []),
    ...(of('proxies').length > 0
      ? ['Mount the config.json that has the proxies: -v ~/.docker/config.json:/root/.docker/config.json:ro.']
      : []),
    ...(networks.length > 0
      ? [`Name ${networks.join(', ')} in the compose file where it was joined by hand (external: true).`]
      : []),
    ...(of('apply').length + networks.length > 0
      ? ['Apply your own edits with docker compose up -d first.']
      : []),
    ...(of('rights').length > 0
      ? [
          'Where you wrote what gives rights, apply it with docker compose up -d first; where you did not, look who edits the files.',
        ]
      : []),
    '--accept-drift goes on regardless.',
  ].join(' ');
}
