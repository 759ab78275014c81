import * as z from 'zod/mini';
import { channels, isRequestableTarget } from '../../core/release/channel.ts';
import { describeInvalidSettingValue } from '../../core/release/release-settings.ts';
import { clockTimePattern, dayNames } from '../../wire/codes.ts';
import { isTimeZoneName } from './automatic-update-settings.ts';

/** Descriptions for OpenAPI. This is not zod's global registry, because the application may use zod as well. */
export const fieldDescriptions = z.registry<{ description: string; examples?: readonly string[] }>();

const describeField = <T extends z.ZodMiniType>(
  schema: T,
  description: string,
  examples?: readonly string[],
): T => {
  fieldDescriptions.add(schema, examples ? { description, examples } : { description });
  return schema;
};

const target = z.string().check(
  z.refine(isRequestableTarget, {
    message: 'must be vX.Y.Z, vX.Y.Z-canary.N or canary',
  }),
);

const value = z
  .string()
  .check(z.refine((it) => describeInvalidSettingValue(it) === null, 'must be one line of text'));
/** Rejects the key `__proto__`, because zod's record would drop it silently. */
const withoutProto = z.transform((given: Record<string, string>, { issues }) => {
  if (Object.hasOwn(Object(given), '__proto__'))
    issues.push({ code: 'custom', message: 'has an unknown key', input: given });
  return given;
});

const when = describeField(
  z.optional(z.enum(['now', 'idle'])),
  '`idle` waits until running jobs have finished',
);
const force = describeField(z.optional(z.boolean()), 'Start even if this interrupts running jobs.');

const updateTarget = describeField(
  z.optional(target),
  'vX.Y.Z or canary; vX.Y.Z-canary.N is treated as canary. Default: `next` from the status',
  ['v1.5.0', 'canary'],
);
const settings = describeField(
  z.optional(z.pipe(withoutProto, z.record(z.string(), value))),
  'Values for new settings of the release, by name',
);

export const updateRequestSchema = z.strictObject({
  target: updateTarget,
  when,
  force,
  allSteps: describeField(
    z.optional(z.boolean()),
    'Install all required intermediate releases, then the target. Without a target, `latest` is the target.',
  ),
  settings,
});

export const rehearsalRequestSchema = z.strictObject({ target: updateTarget, settings });

export const rollbackRequestSchema = z.strictObject({
  confirm: describeField(
    z.string(),
    'The version to roll back to; must be the same as `to` in the rollback offer.',
    ['v1.4.2'],
  ),
  when,
  force,
});

export const skipRequestSchema = z.strictObject({
  version: describeField(z.nullable(z.string()), '`latest` from the status; use null to undo a skip', [
    'v1.5.0',
  ]),
});

export const clockTimeSchema = z.string().check(z.regex(clockTimePattern, 'must be a time such as 02:00'));
const timeZone = z.string().check(z.refine(isTimeZoneName, 'must be a time zone such as Europe/Berlin'));

export const automaticUpdateFieldSchemas = {
  enabled: describeField(z.optional(z.boolean()), 'Whether updates are installed automatically'),
  from: describeField(z.optional(clockTimeSchema), 'Start of the time window in `timeZone`', ['02:00']),
  to: describeField(
    z.optional(clockTimeSchema),
    'End of the time window. If it equals `from`, the window lasts 24 hours.',
    ['05:00'],
  ),
  timeZone: describeField(z.optional(timeZone), "IANA time zone. Default: the server's time zone", [
    'Europe/Berlin',
  ]),
  days: describeField(
    z.optional(z.array(z.enum(dayNames))),
    'Days on which a window starts; an empty list means every day',
  ),
  minAgeHours: describeField(
    z.optional(z.number().check(z.gte(0), z.lte(8760))),
    'Minimum age of a release in hours before it is installed automatically',
  ),
  includeMajors: describeField(
    z.optional(z.boolean()),
    'Whether major versions are also installed automatically',
  ),
  rehearse: describeField(
    z.optional(z.boolean()),
    'Whether each release is rehearsed on a copy of the data before it is installed automatically',
  ),
};

/** Omitted settings remain unchanged. */
export const automaticUpdateSettingsSchema = z.strictObject(automaticUpdateFieldSchemas);

export const channelRequestSchema = z.strictObject({ channel: z.enum(channels) });
