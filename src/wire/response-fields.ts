import { schemaOf } from './field-schemas.ts';

/**
 * A field of a response: its type, its parser and its JSON Schema. Unknown values are accepted, because newer servers
 * may send them.
 */
export interface ResponseField<T> {
  readonly schema: object;
  /** Returns undefined if the value has the wrong type. */
  readonly read: (value: unknown) => T | undefined;
  /**
   * Returns the default, which may depend on the object's other fields. If there is no default, the object is
   * unreadable when the field is missing or invalid.
   */
  readonly missing?: ((beside: Given) => T) | undefined;
  readonly isOptional?: boolean;
}

/** Schema of an object, which becomes a named component of the OpenAPI document. */
export interface ObjectSchema<F extends Fields> extends ResponseField<ShapeOf<F>> {
  readonly name: string;
  readonly component: object;
  readonly fields: F;
}

export type TypeOf<F> = F extends ResponseField<infer T> ? T : never;

type Fields = Readonly<Record<string, ResponseField<unknown>>>;
type Given = Readonly<Record<string, unknown>>;
type Optional<F extends Fields> = { [K in keyof F]: undefined extends TypeOf<F[K]> ? K : never }[keyof F];
type ShapeOf<F extends Fields> = Plain<
  { [K in Exclude<keyof F, Optional<F>>]: TypeOf<F[K]> } & { [K in Optional<F>]?: TypeOf<F[K]> }
>;
/** Flattens an intersection so that editors show the resolved type. */
type Plain<T> = { [K in keyof T]: T[K] };

const readText = (value: unknown) => (typeof value === 'string' ? value : undefined);

export const createTextField = (description?: string): ResponseField<string> => ({
  schema: schemaOf.text(description),
  read: readText,
  missing: () => '',
});

const timeForm = /^\d{4}-\d\d-\d\dT/;

/** An invalid time counts as missing, because clients calculate with times. */
export const createTimeField = (description = 'UTC, ISO 8601'): ResponseField<string> => ({
  ...createTextField(),
  schema: schemaOf.time(description),
  read: (value) =>
    typeof value === 'string' && timeForm.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined,
});

export const createBooleanField = (description?: string): ResponseField<boolean> => ({
  schema: schemaOf.boolean(description),
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  missing: () => false,
});

export const createNumberField = (limits: object): ResponseField<number> => ({
  schema: schemaOf.number(limits),
  read: (value) => (typeof value === 'number' ? value : undefined),
});

export const createPercentField = (): ResponseField<number> => ({
  schema: schemaOf.percent(),
  read: (value) => (typeof value === 'number' && value >= 0 && value <= 100 ? Math.round(value) : undefined),
});

/** Accepts values that are not in `words`: newer servers may send them, and pages must handle them. */
export const createKeywordField = <W extends string>(words: readonly W[]): ResponseField<W> => ({
  schema: schemaOf.keyword(words),
  read: readText as ResponseField<W>['read'],
});

/** Omits unreadable items. */
export const createListField = <T>(
  { schema, read }: ResponseField<T>,
  description?: string,
): ResponseField<T[]> => ({
  schema: schemaOf.list(schema, description),
  read: (value) => (Array.isArray(value) ? value.flatMap((one) => read(one) ?? []) : undefined),
  missing: () => [],
});

export const createNullableField = <T>(
  { schema, read }: ResponseField<T>,
  description?: string,
): ResponseField<T | null> => ({
  schema: schemaOf.nullable(schema, description),
  read,
  missing: () => null,
});

export const createNullableTextField = (description?: string): ResponseField<string | null> =>
  createNullableField(createTextField(), description);

export const createNullableAmountField = (description: string): ResponseField<number | null> =>
  createNullableField(createNumberField({ minimum: 0 }), description);

export const createOptionalField = <T>(
  { schema, read }: ResponseField<T>,
  description?: string,
): ResponseField<T | undefined> => ({
  schema: schemaOf.described(schema, description),
  read,
  missing: () => undefined,
  isOptional: true,
});

/** Values are read with the first schema, because it has all fields of the second. */
export const createUnionField = <T>(
  { schema, read }: ResponseField<T>,
  second: ResponseField<unknown>,
): ResponseField<T> => ({
  schema: schemaOf.union(schema, second.schema),
  read,
});

/** Removes the default of a field. An object without the field is then unreadable. */
export const createRequiredField = <T>(field: ResponseField<T>): ResponseField<T> => ({
  ...field,
  missing: undefined,
});

export const createFieldWithDefault = <T, M extends string | undefined>(
  field: ResponseField<T>,
  missing: (beside: Given) => M,
): ResponseField<Exclude<T, undefined> | M> => ({
  ...(field as ResponseField<Exclude<T, undefined>>),
  missing,
});

/** Retains unknown fields, because they come from newer servers. */
export function defineSchema<F extends Fields>(
  name: string,
  description: string | null,
  fields: F,
): ObjectSchema<F> {
  const all = Object.entries(fields);
  return {
    name,
    fields,
    schema: schemaOf.reference(name),
    component: schemaOf.object(all, description),
    read: (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
      const given: Record<string, unknown> = { ...value };
      const found = { ...given };
      for (const [key, { read, missing }] of all) {
        found[key] = read(given[key]) ?? missing?.(given);
        if (found[key] === undefined && missing === undefined) return undefined;
      }
      return found as ShapeOf<F>;
    },
  };
}
