/** What a product is called, and where its parts are: everything in which one product differs from another. */
export interface Product {
  /** One word: what it is called, what its client is typed by, and what all the others come from. */
  readonly name: string;
  /** As its compose file calls them: the app, then the workers. */
  readonly services: readonly [app: string, ...workers: string[]];
  /** Of the `.env`: what a generated compose file takes the version from. */
  readonly versionVariable: string;
  /** First line of a compose file that every update overwrites. */
  readonly marker: string;
  /** Where an image keeps the compose files of its release. */
  readonly releaseDirectory: string;
  /** Of the updater's container, by which operators read its log. */
  readonly containerName: string;
  /** What its labels begin with: `svc` for `svc.role`, `svc.release-files` and `svc.release-requires`. */
  readonly labelPrefix: string;
  /** The web address of its releases; null where there is none. */
  readonly feed: string | null;
  /** Services whose data restore points save or exclude, unless the instance's settings or a label decide it. */
  readonly data?: Readonly<Record<string, DataWord>>;
}

/** Whether restore points contain the data of a service. */
export const dataWords = ['save', 'none'] as const;
export type DataWord = (typeof dataWords)[number];
export const isDataWord = (value: unknown): value is DataWord => dataWords.some((word) => word === value);

/** A product as its maker writes it down: what is left out comes from the name. */
export type ProductOptions = Pick<Product, 'name'> &
  Partial<Omit<Product, 'services'>> & {
    readonly services?: readonly string[];
  };

const serviceForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

const forms: Record<
  Exclude<keyof Product, 'services' | 'feed' | 'data'>,
  readonly [form: RegExp, should: string]
> = {
  name: [/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'a word of lower-case letters, digits and dashes'],
  versionVariable: [/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable'],
  marker: [/^#[^\r\n]*[^\s]$/, 'a comment of one line, such as # larder:generated'],
  releaseDirectory: [/^(?:\/(?!\.\.?(?:\/|$))[^/\s]+)+$/, 'an absolute path'],
  containerName: [/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, "a container's name"],
  labelPrefix: [/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/, 'the beginning of labels, such as org.example.larder'],
};

/**
 * The whole record of a product.
 * @throws TypeError that names every mistake at once
 */
export function productOf(given: ProductOptions): Product {
  const mistakes = mistakesIn(given);
  if (mistakes.length > 0) throw new TypeError(`wrong product: ${mistakes.join('; ')}`);
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
    // An older updater, which knows no such key, is started with the record of a product that says nothing.
    ...(given.data !== undefined && { data: given.data }),
  };
}

function mistakesIn(given: unknown): string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return ['it should be an object'];
  const record = given as Record<string, unknown>;
  const known = [...Object.keys(forms), 'services', 'feed', 'data'];
  const texts = Object.entries(forms).flatMap(([key, [form, should]]) => {
    const value = record[key];
    if (value === undefined && key !== 'name') return [];
    return typeof value === 'string' && form.test(value) ? [] : [`${key} should be ${should}${not(value)}`];
  });
  return [
    ...texts,
    ...serviceMistakes(record.services),
    ...feedMistakes(record.feed),
    ...dataMistakes(record.data),
    ...Object.keys(record)
      .filter((key) => !known.includes(key))
      .map((key) => `there is no ${key}`),
  ];
}

function serviceMistakes(value: unknown): string[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.length > 0;
  if (!isList || !value.every((name) => typeof name === 'string' && serviceForm.test(name)))
    return [`services should be a list of services' names, the app first${not(value)}`];
  return new Set(value).size < value.length ? [`services names one twice${not(value)}`] : [];
}

function feedMistakes(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const { protocol = '', username, password } = (typeof value === 'string' && URL.parse(value)) || {};
  // It is built into what everybody has: a login would be everybody's, and is not repeated here.
  if (username || password) return ['feed should be a web address without a login'];
  return /^https?:$/.test(protocol) ? [] : [`feed should be a web address${not(value)}`];
}

function dataMistakes(value: unknown): string[] {
  if (value === undefined) return [];
  const isRight =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(([name, word]) => serviceForm.test(name) && isDataWord(word));
  return isRight ? [] : [`data should be save or none for each service, such as { db: 'save' }${not(value)}`];
}

const not = (value: unknown): string => (value === undefined ? '' : `, not ${JSON.stringify(value)}`);

/** As the names of its environment variables begin: `LARDER` for `LARDER_URL`. */
export const inCapitals = (name: string): string => name.toUpperCase().replaceAll('-', '_');

/** By which a compose file says what a service is for: `worker`. */
export const roleLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.role`;

/** The compose label that saves or excludes the data of a service: `save`. */
export const dataLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.data`;

/** On an image: where it keeps the compose files of its release. */
export const filesLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-files`;

/** On the image of the app: the oldest release that it can be updated from, `v1.5.0`. */
export const requiresLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-requires`;

/** What everything here is made for where nobody names another. */
export const svc: Product = productOf({
  name: 'svc',
  feed: 'https://api.github.com/repos/acme/svc/releases',
});
