import * as z from 'zod/mini';
import { createJsonTextSchema } from '../text/json-text.ts';

/** Names and paths that differ from product to product. */
export interface Product {
  /** Name of the product and its client, as one word. All names that are not specified are derived from it. */
  readonly name: string;
  /** Services in the compose file: the app first, then the workers. */
  readonly services: readonly [app: string, ...workers: string[]];
  /** Variable in `.env` that sets the version in a generated compose file. */
  readonly versionVariable: string;
  /** First line of a generated compose file. Every update replaces the files that begin with this line. */
  readonly marker: string;
  /** Directory in an image that contains the compose files of its release. */
  readonly releaseDirectory: string;
  /** Name of the updater container, for `docker logs`. */
  readonly containerName: string;
  /** Prefix of the product's labels: `svc` for `svc.role`, `svc.release-files` and `svc.release-requires`. */
  readonly labelPrefix: string;
  /** Web address of the product's releases; null if there is none. */
  readonly feed: string | null;
  /**
   * Whether restore points include the data of a service, keyed by service name. Settings of the instance and a label
   * override this.
   */
  readonly data?: Readonly<Record<string, DataKeyword>>;
  /** Command that checks a new app container, unless a label of the image sets another command. */
  readonly ready?: readonly string[];
  /** Command that checks an instance before an update, unless a label of the image sets another command. */
  readonly preflight?: readonly string[];
  /** Image, without its tag, that runs `svc-updater serve`. The command `enable` adds a service with this image. */
  readonly updatesImage?: string;
}

/** `save` includes the data of a service in restore points, `none` excludes it. */
export const dataKeywords = ['save', 'none'] as const;
export type DataKeyword = (typeof dataKeywords)[number];
export const isDataKeyword = (value: unknown): value is DataKeyword =>
  dataKeywords.some((word) => word === value);

/** A product as specified by its publisher. Missing values are derived from the name. */
export type ProductOptions = Pick<Product, 'name'> &
  Partial<Omit<Product, 'services'>> & {
    readonly services?: readonly string[];
  };

const text = (form: RegExp, description: string) => {
  const message = `must be ${description}`;
  return z.string(message).check(z.regex(form, message));
};
const serviceForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const listOfServices = 'a list of service names, the app first';
const saveOrNone = "must be save or none for each service, such as { db: 'save' }";
const webAddress = 'must be a web address';

const listOfWords = 'must be a list of 1 to 64 strings without NUL, each of at most 4,096 characters';
const commandSchema = z.readonly(
  z
    .array(z.string(listOfWords).check(z.regex(/^[^\0]{0,4096}$/, listOfWords)), listOfWords)
    .check(z.minLength(1, listOfWords), z.maxLength(64, listOfWords)),
);

const productSchema = z.strictObject(
  {
    name: text(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/, 'one word of lower-case letters, digits and hyphens'),
    versionVariable: z.optional(text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable')),
    marker: z.optional(text(/^#[^\r\n]*[^\s]$/, 'a one-line comment such as # larder:generated')),
    releaseDirectory: z.optional(text(/^(?:\/(?!\.\.?(?:\/|$))[^/\s]+)+$/, 'an absolute path')),
    containerName: z.optional(text(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/, 'the name of a container')),
    labelPrefix: z.optional(
      text(/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/, 'a label prefix such as org.example.larder'),
    ),
    services: z.optional(
      z.array(text(serviceForm, listOfServices), `must be ${listOfServices}`).check(
        z.minLength(1, `must be ${listOfServices}`),
        z.refine((names) => new Set(names).size === names.length, 'must not list a service twice'),
      ),
    ),
    feed: z.nullish(
      z.string(webAddress).check(
        z.refine((value) => !hasCredentials(value), `${webAddress} without credentials`),
        z.refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), webAddress),
      ),
    ),
    data: z.optional(
      z.record(z.string().check(z.regex(serviceForm)), z.enum(dataKeywords, saveOrNone), saveOrNone),
    ),
    ready: z.optional(commandSchema),
    preflight: z.optional(commandSchema),
    updatesImage: z.optional(
      text(
        /^(?:[a-z0-9.-]+(?::\d{1,5})?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$/,
        'an image without a tag, such as ghcr.io/acme/larder-updates',
      ),
    ),
  },
  'it must be an object',
);

/**
 * Completes the options with values derived from the name.
 * @throws TypeError that lists all mistakes
 */
export function createProduct(given: ProductOptions): Product {
  const mistakes = findProductMistakes(given);
  if (mistakes.length > 0) throw new TypeError(`invalid product: ${mistakes.join('; ')}`);
  const { name } = given;
  const [app = 'app', ...workers] = given.services ?? ['app', 'worker'];
  return {
    name,
    services: [app, ...workers],
    versionVariable: given.versionVariable ?? `${toVariablePrefix(name)}_VERSION`,
    marker: given.marker ?? `# ${name}:generated`,
    releaseDirectory: given.releaseDirectory ?? `/usr/share/${name}/release`,
    containerName: given.containerName ?? `${name}-updater`,
    labelPrefix: given.labelPrefix ?? name,
    feed: given.feed ?? null,
    // Older updaters reject these keys, so they are passed on only if they are set.
    ...(given.data !== undefined && { data: given.data }),
    ...(given.ready !== undefined && { ready: given.ready }),
    ...(given.preflight !== undefined && { preflight: given.preflight }),
    ...(given.updatesImage !== undefined && { updatesImage: given.updatesImage }),
  };
}

/** Lists at most one mistake for each key. */
export function findProductMistakes(given: unknown): string[] {
  const mistakes = new Map<PropertyKey, string>();
  for (const issue of productSchema.safeParse(given).error?.issues ?? []) {
    const key = issue.path[0];
    if (issue.code === 'unrecognized_keys')
      for (const each of issue.keys) mistakes.set(each, `${each} is not a known key`);
    else if (key === undefined) return [issue.message];
    else if (!mistakes.has(key))
      mistakes.set(
        key,
        `${String(key)} ${issue.message}${not((given as Record<PropertyKey, unknown>)[key])}`,
      );
  }
  return [...mistakes.values()];
}

/**
 * Checks whether an address contains credentials, which would be public in every build. Error messages do not repeat
 * such an address.
 */
function hasCredentials(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return Boolean(url?.username || url?.password);
}

const not = (value: unknown): string =>
  value === undefined || hasCredentials(value) ? '' : `, not ${JSON.stringify(value)}`;

/** Returns the prefix of a product's environment variables: `LARDER` for `LARDER_URL`. */
export const toVariablePrefix = (name: string): string => name.toUpperCase().replaceAll('-', '_');

/** Returns the name of the compose label that sets the role of a service, for example to `worker`. */
export const roleLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.role`;

/** Returns the name of the compose label that sets whether a service's data is saved: `save` or `none`. */
export const dataLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.data`;

/** Returns the name of the image label that contains the directory of the release's compose files. */
export const releaseFilesLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-files`;

/**
 * Returns the name of the app image label that contains the oldest release from which a direct update is possible, such
 * as `v1.5.0`.
 */
export const requiredReleaseLabelOf = ({ labelPrefix }: Product): string => `${labelPrefix}.release-requires`;

/** Parses a JSON list of a program and its arguments. Returns undefined for any other text. */
export const parseJsonCommand = (text: string): readonly string[] | undefined =>
  createJsonTextSchema(commandSchema).safeParse(text).data;

/** Returns the name of the app image label that contains the release's own check or its new settings as JSON. */
export const releaseJsonLabelOf = (
  { labelPrefix }: Product,
  kind: 'ready' | 'preflight' | 'settings',
): string => `${labelPrefix}.${kind}`;

/** The default product. */
export const svcProduct: Product = createProduct({
  name: 'svc',
  feed: 'https://api.github.com/repos/acme/svc/releases',
});
