import * as z from 'zod/mini';

/**
 * File in the updater container in which the server passes the values of new settings. The updater removes the file.
 */
export const settingValuesPath = '/run/svc-updater-settings.env';

/** Formats in which the updater can generate the value of a setting. */
export const generatedValueFormats = ['hex32', 'base64-32', 'uuid'] as const;

/** Variables that cannot be settings of a product, because they change how programs run. */
const reserved =
  /^(?:COMPOSE|DOCKER|LD|NODE|SVC_UPDATER)_|_proxy$|^(?:PATH|HOME|PWD|SHELL|IFS|ENV|BASH_ENV|__proto__)$/i;

const oneLine = (most: number) =>
  z
    .string()
    .check(
      z.maxLength(most, `must have at most ${most} characters`),
      z.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must be a single line of text'),
    );

const settingSchema = z.strictObject({
  /** Name of the variable in the compose project. */
  name: z.string().check(
    z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be the name of a variable'),
    z.refine((name) => !reserved.test(name), 'is reserved'),
  ),
  description: oneLine(300),
  required: z._default(z.boolean(), false),
  default: z.optional(oneLine(4096)),
  generate: z.optional(z.enum(generatedValueFormats)),
  /** Whether the value must never be shown. */
  secret: z._default(z.boolean(), false),
});

/** Settings that are new in a release, for `release.json` and the label `svc.settings`. */
export const releaseSettingsSchema = z.array(settingSchema).check(
  z.maxLength(50),
  z.refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must not list a name twice'),
);

export type ReleaseSetting = z.infer<typeof settingSchema>;

/** Describes why a value cannot be written to one line of an env file. Returns null if the value is valid. */
export const describeInvalidSettingValue = (value: string): string | null =>
  value === '' ? 'must not be empty' : (oneLine(4096).safeParse(value).error?.issues[0]?.message ?? null);
