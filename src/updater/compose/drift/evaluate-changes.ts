import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { compareVersions } from '../../../core/release/compare-versions.ts';
import { parsePinTag } from '../../../core/release/pin-tag.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import {
  type ChangeWithSettingTexts,
  type DriftChange,
  type ImageMismatch,
  settingPathOf,
} from './changes.ts';
import type { DefinitionDifference, DefinitionMount } from './find-differences.ts';
import {
  hasVariableDefault,
  listUnsetVariables,
  resolveSettingText,
  type VariableResolver,
} from './setting-texts.ts';

/** Advice for the user on how to prevent a loss. */
type Remedy =
  /**
   * Set variables in an env file. `line` is the exact line to add, if known. If `hasDefault` is true, the cause may be
   * an edited default instead.
   */
  | { kind: 'set'; variables: readonly string[]; hasDefault: boolean; line?: string }
  | { kind: 'home' }
  | { kind: 'proxies' }
  | { kind: 'join'; network: string }
  | { kind: 'rights' }
  | { kind: 'apply' };

/** A change that recreating the containers would cause, described without secret values. */
export type DriftFinding =
  /** An edit of the files that causes only a warning. `key` is the edited setting, such as `label tier`. */
  | { service: string; isLoss: false; key: string }
  /** A change that is refused unless drift is accepted, such as `app: the mount at /data would become read-only`. */
  | Loss;

interface Loss {
  service: string;
  isLoss: true;
  sentence: string;
  remedy: Remedy;
}

interface ChangeOrigin {
  /** Texts in the files that determine the changed value; empty if no file mentions it. */
  texts: readonly string[];
  /** Variables in `texts` that no file sets, so only a shell can have set them. */
  unset: readonly string[];
  /** Home directory in compose's environment. */
  home: string;
}

/**
 * Classifies the changes (docs/contract.md 4.2, 4.9). If one place in the files causes several changes, the most
 * serious one counts: a loss, then a gained privilege, then an edit.
 */
export function evaluateDriftChanges(
  changes: readonly ChangeWithSettingTexts[],
  { setTo, home: deployment }: { setTo: VariableResolver; home: string },
): DriftFinding[] {
  const judged = changes.flatMap(([change, texts]) => {
    const finding = evaluateChange(
      change,
      { texts, unset: listUnsetVariables(texts, setTo), home: deployment },
      setTo,
    );
    const { section, item } = settingPathOf(change) ?? {};
    const location = JSON.stringify([change.service, section, item]);
    return finding === null ? [] : [{ finding, kind: change.kind, place: location }];
  });
  const refused = (kind: DriftChange['kind']) =>
    new Set(judged.flatMap((each) => (each.kind === kind && each.finding.isLoss ? [each.place] : [])));
  const [lost, gained] = [refused('difference'), refused('gain')];
  return judged.flatMap(({ finding, kind, place: location }) => {
    const isTold =
      kind === 'gain' ? !lost.has(location) : finding.isLoss || lost.has(location) || !gained.has(location);
    return isTold ? [finding] : [];
  });
}

function evaluateChange(
  change: DriftChange,
  facts: ChangeOrigin,
  setTo: VariableResolver,
): DriftFinding | null {
  const { service } = change;
  const { unset, texts } = facts;
  if (change.kind === 'difference') return evaluateDefinitionDifference(service, change.difference, facts);
  if (change.kind === 'image') return evaluateImageMismatch(service, { ...change.image, texts }, setTo);
  if (change.kind === 'gain') {
    const sentence = `${service}: ${change.right.name} would be granted`;
    // Additional privileges require accepted drift too, because the operator may not have written the files.
    return unset.length > 0
      ? createUnsetVariableLoss(unset, service, sentence, texts)
      : { service, isLoss: true, sentence, remedy: { kind: 'rights' } };
  }
  const key = `${change.of.slice(0, -1)} ${change.source}`;
  if (change.kind === 'unset')
    return createUnsetVariableLoss([change.variable], service, `${service}: ${key} would be lost`);
  if (unset.length === 0) return { service, isLoss: false, key };
  const sentence = `${service}: ${key} would ${change.isNew ? 'be added' : 'change'}`;
  return createUnsetVariableLoss(unset, service, sentence, texts);
}

/**
 * Creates the finding for a setting that would be lost because its variables were set only in a shell.
 * @param texts - the texts in the files that determine the setting
 */
const createUnsetVariableLoss = (
  variables: readonly string[],
  service: string,
  sentence: string,
  texts: readonly string[] = [],
): Loss => ({
  service,
  sentence: `${sentence}${formatUnsetVariables(variables)}`,
  isLoss: true,
  remedy: { kind: 'set', variables, hasDefault: hasVariableDefault(texts) },
});

const formatUnsetVariables = (variables: readonly string[]): string =>
  ` (${variables.join(' and ')} ${variables.length > 1 ? 'are' : 'is'} not set in any file)`;

/** Variables that every shell sets. */
const alwaysSetVariables = ['HOME', 'PWD'];

/** Determines whether a difference is a loss, and which remedy helps (docs/contract.md 4.2). */
export function evaluateDefinitionDifference(
  service: string,
  difference: DefinitionDifference,
  facts: ChangeOrigin,
): DriftFinding {
  const isUnset = facts.unset.length > 0;
  if (!isUnset && !isLossOfSetting(difference))
    return { service, isLoss: false, key: formatSettingName(difference) };
  return {
    service,
    isLoss: true,
    sentence: `${service}: ${formatLossSentence(difference)}${isUnset ? formatUnsetVariables(facts.unset) : ''}`,
    remedy: remedyFor(difference, facts),
  };
}

/** Sections in which removing or changing an existing item is a loss. */
const protectedSections = ['volumes', 'ports', 'networks', 'network address', 'network_mode', 'volumes_from'];

/**
 * Whether recreating the container would remove or empty an environment variable, or change or remove a protected item.
 */
function isLossOfSetting({ section, running, planned }: DefinitionDifference): boolean {
  if (running === null) return false;
  if (section === 'environment') return running !== '""' && (planned === null || planned === '""');
  return protectedSections.includes(section);
}

function formatLossSentence(difference: DefinitionDifference): string {
  const { section, item, running, planned } = difference;
  if (section === 'volumes' && running !== null) return mountSentence(item, running, planned);
  const name = formatSettingName(difference);
  if (running === null) return `${name} would be added`;
  if (section === 'environment' && planned === '""') return `${name} would be set to an empty value`;
  if (planned === null) return `${name} would be removed`;
  return section === 'network_mode' || section === 'container_name'
    ? `${name} would change from ${running.slice(0, 40)} to ${planned.slice(0, 40)}`
    : `${name} would change`;
}

const formatSettingName = ({ section, item }: DefinitionDifference): string =>
  [sectionNouns[section] ?? section, item].filter(Boolean).join(' ');

function mountSentence(target: string, running: string, planned: string | null): string {
  const now = readMount(running);
  if (planned === null) {
    return now.source === ''
      ? `the ${now.type === 'volume' ? 'anonymous volume' : now.type} at ${target} would be removed`
      : `the mount of ${now.source} at ${target} would be removed`;
  }
  const then = readMount(planned);
  if (now.type === then.type && now.source === then.source)
    return `the mount at ${target} would become ${then.readOnly ? 'read-only' : 'writable'}`;
  const from = (mount: DefinitionMount) =>
    mount.source || (mount.type === 'volume' ? 'an anonymous volume' : mount.type);
  return `the source of the mount at ${target} would change from ${from(now)} to ${from(then)}`;
}

const readMount = (text: string): DefinitionMount => ({ source: '', readOnly: false, ...JSON.parse(text) });

/** Names of sections in messages, if they differ from the names in compose files. */
const sectionNouns: Readonly<Record<string, string>> = {
  environment: 'environment variable',
  labels: 'label',
  volumes: 'a mount at',
  ports: 'published port',
  networks: 'network',
  network_mode: 'network mode',
};

const proxy = /^(https?|ftp|all|no)_proxy$/i;

function remedyFor({ section, item, planned }: DefinitionDifference, facts: ChangeOrigin): Remedy {
  const variables = facts.unset.filter((name) => !alwaysSetVariables.includes(name));
  if (variables.length > 0) return { kind: 'set', variables, hasDefault: hasVariableDefault(facts.texts) };
  if (facts.unset.includes('HOME') || (section === 'volumes' && isInHomeDirectory(facts.home, planned)))
    return { kind: 'home' };
  if (section === 'environment' && facts.texts.length === 0 && proxy.test(item)) return { kind: 'proxies' };
  if (section === 'networks' && planned === null) return { kind: 'join', network: item };
  return { kind: 'apply' };
}

const isInHomeDirectory = (deployment: string, planned: string | null): boolean =>
  planned !== null && readMount(planned).source.startsWith(`${deployment}/`);

/** Returns a warning with the edited keys for each service whose edits cause no loss. */
export function formatEditWarnings(findings: readonly DriftFinding[]): string[] {
  const edits = findings.flatMap((finding) => (finding.isLoss ? [] : [finding]));
  return [...Map.groupBy(edits, ({ service }) => service)].map(([service, own]) => {
    const keys = joinWithAnd([...new Set(own.map(({ key }) => key))]);
    return `${service}: the files were edited after the app was started; the update will apply the edits of ${keys}`;
  });
}

/**
 * Combines the advice for all losses.
 * @param envFile - the env file to which the user should add variables
 */
export function formatDriftAdvice(remedies: readonly Remedy[], envFile: string): string {
  const of = <K extends Remedy['kind']>(kind: K) =>
    remedies.filter((remedy): remedy is Extract<Remedy, { kind: K }> => remedy.kind === kind);
  const set = of('set').flatMap(({ variables, line }) => line ?? variables.map((name) => `${name}=…`));
  const lines = [...new Set(set)];
  const networks = [...new Set(of('join').map(({ network }) => network))];
  const advice: readonly (readonly [applies: boolean, sentence: string])[] = [
    [
      lines.length > 0,
      `Add ${lines.join(', ')} to ${envFile}, using the values from the shell in which the app was started.`,
    ],
    [
      of('set').some((remedy) => remedy.hasDefault),
      'If the variable was never set in a shell but its default value was edited in a file, run {up} first.',
    ],
    [
      of('home').length > 0,
      'Set HOME to the home directory of the user who started the app: add -e HOME=… to the docker run command.',
    ],
    [
      of('proxies').length > 0,
      'Mount the config.json that contains the proxy settings: -v ~/.docker/config.json:/root/.docker/config.json:ro.',
    ],
    [
      networks.length > 0,
      `If you manually connected containers to ${networks.join(', ')}, add ${networks.length > 1 ? 'these networks' : 'this network'} to the compose file (external: true).`,
    ],
    [of('apply').length + networks.length > 0, 'Apply your own edits with {up} first.'],
    [
      of('rights').length > 0,
      'If you added these privileges yourself, apply them with {up} first. Otherwise, find out who edited the files.',
    ],
    [true, 'To update anyway, use --accept-drift.'],
  ];
  return advice.flatMap(([applies, sentence]) => (applies ? [sentence] : [])).join(' ');
}

/**
 * Classifies a running image that differs from the files. Returns a loss if only a shell can have set a variable in the
 * reference; otherwise null.
 */
export function evaluateImageMismatch(
  service: string,
  { running, inFiles, byDefault, texts }: ImageMismatch & { texts: readonly string[] },
  setElsewhere: VariableResolver,
): Loss | null {
  const setTo: VariableResolver = (name) => (name === byDefault ? null : setElsewhere(name));
  const variables = listUnsetVariables(texts, setTo);
  if (variables.length === 0) return null;
  const loss = createUnsetVariableLoss(
    variables,
    service,
    `${service}: the files specify ${inFiles}, not ${running}`,
  );
  const line = variables
    .flatMap((name) => findVariableLines(name, running, { texts, setTo }))
    .sort((a, b) => a.length - b.length)[0];
  const remedy = { kind: 'set', variables, hasDefault: isNewerInFiles(inFiles, running) } as const;
  return { ...loss, remedy: line === undefined ? remedy : { ...remedy, line } };
}

/**
 * Whether the files specify a newer release than the running image. If so, the user may have edited a default. For a
 * floating tag or an older release, `up` would install an image that the user did not request.
 */
function isNewerInFiles(inFiles: string, running: string): boolean {
  const [then, now] = [inFiles, running].map((text) => parsePinTag(parseImageReference(text)?.tag ?? ''));
  return (
    then?.kind === 'release' && (now?.kind !== 'release' || compareVersions(then.version, now.version) > 0)
  );
}

/**
 * Returns the env file line that specifies the running image, such as `TAG=v1.0.0`. Empty if no value of the variable
 * does.
 */
function findVariableLines(
  variable: string,
  running: string,
  { texts, setTo }: { texts: readonly string[]; setTo: VariableResolver },
): string[] {
  const mark = '\0';
  return texts.flatMap((text) => {
    const resolvedWith = (value: string) =>
      resolveSettingText(text, (name) => (name === variable ? value : setTo(name))).resolved;
    const [before, after, ...more] = resolvedWith(mark)?.split(mark) ?? [];
    if (before === undefined || after === undefined || more.length > 0) return [];
    const value = running.slice(before.length, running.length - after.length);
    return resolvedWith(value) === running ? [`${variable}=${value}`] : [];
  });
}
