/** How the arguments of a tool are described: Standard Schema (Zod, ArkType, Valibot and others) or JSON Schema. */
import { isObject, type JsonObject } from "./frame.ts";

type Issue = { readonly message: string; readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined };
type Validated<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: ReadonlyArray<Issue> };

/** What the libraries for schemas have in common: https://standardschema.dev */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown, options?: never) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A JSON Schema as it is written. */
export type JsonSchema = { readonly [keyword: string]: unknown };

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever they take and give
export type Schema = StandardSchema<any, any> | JsonSchema;

/** What a value that fits the schema is. */
export type Infer<S> =
  S extends StandardSchema<infer _Input, infer Output> ? Output
  : S extends JsonSchema ? FromJsonSchema<S>
  : never;

type FromJsonSchema<S> =
  S extends { readonly const: infer Value } ? Value
  : S extends { readonly enum: readonly (infer Value)[] } ? Value
  : S extends { readonly type: "string" } ? string
  : S extends { readonly type: "number" | "integer" } ? number
  : S extends { readonly type: "boolean" } ? boolean
  : S extends { readonly type: "null" } ? null
  : S extends { readonly type: "array"; readonly items: infer Item } ? FromJsonSchema<Item>[]
  : S extends { readonly type: "object"; readonly properties: infer Properties } ? FromProperties<Properties, RequiredOf<S>>
  : S extends { readonly type: "object" } ? JsonObject
  : string extends keyof S ? JsonObject
  : unknown;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type FromProperties<Properties, Needed> = Flat<
  { -readonly [Name in keyof Properties as Name extends Needed ? Name : never]: FromJsonSchema<Properties[Name]> } & {
    -readonly [Name in keyof Properties as Name extends Needed ? never : Name]?: FromJsonSchema<Properties[Name]>;
  }
>;

type Flat<T> = { [Name in keyof T]: T[Name] };

/** A value that does not fit its schema. */
export class Misfit extends Error {
  override name = "Misfit";
}

export function isStandard(schema: Schema): schema is StandardSchema {
  return "~standard" in schema;
}

/** The JSON Schema of what a schema takes ("input") or gives ("output"). */
export function jsonSchemaOf(schema: Schema, side: "input" | "output", what: string): JsonObject {
  if (!isStandard(schema)) return schema as JsonObject;
  const standard = schema["~standard"] as {
    vendor: string;
    jsonSchema?: Record<"input" | "output", (options: { target: string }) => JsonObject>;
  };
  if (!standard.jsonSchema) {
    const hint = standard.vendor === "valibot" ? "wrap it in toStandardJsonSchema of @valibot/to-json-schema" : "use a version that has one, or give the JSON Schema itself";
    throw new Error(`${what}: this schema of ${standard.vendor} has no JSON Schema; ${hint}`);
  }
  return standard.jsonSchema[side]({ target: "draft-2020-12" });
}

/** The value as its schema gives it back. JSON Schemas have been checked by the gateway. */
export async function validate<S extends Schema>(schema: S | undefined, value: unknown): Promise<Infer<S>> {
  if (!schema || !isStandard(schema)) return (value ?? {}) as Infer<S>;
  const result = await schema["~standard"].validate(value ?? {});
  if (result.issues) throw new Misfit(result.issues.map(sayIssue).join("; "));
  return result.value as Infer<S>;
}

function sayIssue(issue: Issue): string {
  const path = (issue.path ?? []).map((step) => String(isObject(step) ? step.key : step)).join(".");
  return path ? `${path}: ${issue.message}` : issue.message;
}
