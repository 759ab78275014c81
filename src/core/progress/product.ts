/** Everything that differs from product to product: its names and where its parts are. */
export interface Product {
  /** One word: the name of the product and of its client. The other names are derived from it. */
  readonly name: string;
  /** The services of its compose file: the app first, then the workers. */
  readonly services: readonly [app: string, ...workers: string[]];
  /** The variable in `.env` that sets the version in a generated compose file. */
  readonly versionVariable: string;
  /** First line of a generated compose file, which every update replaces. */
  readonly marker: string;
  /** The directory of an image that contains the compose files of its release. */
  readonly releaseDirectory: string;
  /** The name of the updater's container, for `docker logs`. */
  readonly containerName: string;
  /** The prefix of its labels: `svc` for `svc.role`, `svc.release-files` and `svc.release-requires`. */
  readonly labelPrefix: string;
  /** The web address of its releases; null if there is none. */
  readonly feed: string | null;
  /** Services whose data restore points save or exclude, unless the instance's settings or a label decide it. */
  readonly data?: Readonly<Record<string, DataWord>>;
}

/** Whether restore points contain the data of a service. */
export const dataWords = ['save', 'none'] as const;
export type DataWord = (typeof dataWords)[number];
export const isDataWord = (value: unknown): value is DataWord => dataWords.some((word) => word === value);

/** A product as its maker specifies it. Missing values are derived from the name. */
export type ProductOptions = Pick<Product, 'name'> &
  Partial<Omit<Product, 'services'>> & {
    readonly services?: readonly string[];
  };

const serviceForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

const forms: Record<
  Exclude<keyof Product, 'services' | 'feed' | 'data'>,
  readonly [form: RegExp, description: string]
> = {
  name: [/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'one word of lower-case letters, digits and hyphens'],
  versionVariable: [/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable'],
  marker: [/^#[^\r\n]*[^\s]$/, 'a one-line comment such as # larder:generated'],
  releaseDirectory: [/^(?:\/(?!\.\.?(?:\/|$))[^/\s]+)+$/, 'an absolute path'],
  containerName: [/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, 'the name of a container'],
  labelPrefix: [/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/, 'a label prefix such as org.example.larder'],
};

/**
 * A product with all its values.
 * @throws TypeError that lists all mistakes
 */
export function productOf(given: ProductOptions): Product {
  const mistakes = productMistakes(given);
  if (mistakes.length > 0) throw new TypeError(`invalid product: ${mistakes.join('; ')}`);
  const { name } = given;
  const [app = 'app', ...workers] = given.services ?? ['app', 'worker'];
  return {
    name,
    services: [app, ...workers],
    versionVariable: given.versionVariable ?? `${inCapitals(name)}_VERSION`,
    marker: given.marker ?? `# ${name}:generated`,
    releaseDirectory: given.releaseDirectory ?? `/usr/share/${name}/release`,
    containerName: given.containerName ?? `${name}-updater`,
    labelPrefix: given.labelPrefix ?? name,
    feed: given.feed ?? null,
    // An older updater rejects this key, so it is only passed on if it is set.
    ...(given.data !== undefined && { data: given.data }),
  };
}

/** What is wrong with a product. */
export function productMistakes(given: unknown): string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return ['it must be an object'];
  const record = given as Record<string, unknown>;
  const known = [...Object.keys(forms), 'services', 'feed', 'data'];
  const texts = Object.entries(forms).flatMap(([key, [form, description]]) => {
    const value = record[key];
    if (value === undefined && key !== 'name') return [];
    return typeof value === 'string' && form.test(value)
      ? []
      : [`${key} must be ${description}${not(value)}`];
  });
  return [
    ...texts,
    ...serviceMistakes(record.services),
    ...feedMistakes(record.feed),
    ...dataMistakes(record.data),
    ...Object.keys(record)
      .filter((key) => !known.includes(key))
      .map((key) => `${key} is not a known key`),
  ];
}

function serviceMistakes(value: unknown): string[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.length > 0;
  if (!isList || !value.every((name) => typeof name === 'string' && serviceForm.test(name)))
    return [`services must be a list of service names, the app first${not(value)}`];
  return new Set(value).size < value.length ? [`services must not list a service twice${not(value)}`] : [];
}

function feedMistakes(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const { protocol = '', username, password } = (typeof value === 'string' && URL.parse(value)) || {};
  // The address is part of every build, so credentials in it would be public. The message does not repeat them.
  if (username || password) return ['feed must be a web address without credentials'];
  return /^https?:$/.test(protocol) ? [] : [`feed must be a web address${not(value)}`];
}

function dataMistakes(value: unknown): string[] {
  if (value === undefined) return [];
  const isRight =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(([name, word]) => serviceForm.test(name) && isDataWord(word));
  return isRight ? [] : [`data must be save or none for each service, such as { db: 'save' }${not(value)}`];
}

const not = (value: unknown): string => (value === undefined ? '' : `, not ${JSON.stringify(value)}`);

/** The prefix of its environment variables: `LARDER` for `LARDER_URL`. */
export const inCapitals = (name: string): string => name.toUpperCase().replaceAll('-', '_');

/** The compose label that sets the role of a service: `worker`. */
export const roleLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.role`;

/** The compose label that saves or excludes the data of a service: `save`. */
export const dataLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.data`;

/** The image label with the directory of the release's compose files. */
export const filesLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-files`;

/** The label of the app image with the oldest release that can be updated to it, `v1.5.0`. */
export const requiresLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-requires`;

/** The default product. */
export const svc: Product = productOf({
  name: 'svc',
  feed: 'https://api.github.com/repos/acme/svc/releases',
});
