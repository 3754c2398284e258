import assert from "node:assert/strict";
import { test } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { Agent, type Infer } from "../src/index.ts";
import { jsonSchemaOf, Misfit, validate, type Schema } from "../src/schema.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if the two types are the same. */
function sameType<A, B>(_same: Equal<A, B>): void {}

const zodSchema = z.object({ city: z.string().min(1), days: z.number().int().default(1) });
const arkSchema = type({ city: "string > 0", "days?": "number.integer" });
const valibotSchema = toStandardJsonSchema(v.object({ city: v.pipe(v.string(), v.minLength(1)), days: v.optional(v.number(), 1) }));
const plainSchema = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer" },
    units: { enum: ["metric", "imperial"] },
    tags: { type: "array", items: { type: "string" } },
    at: { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] },
  },
  required: ["city", "units"],
} as const;

sameType<Infer<typeof zodSchema>, { city: string; days: number }>(true);
sameType<Infer<typeof arkSchema>, { city: string; days?: number }>(true);
sameType<Infer<typeof valibotSchema>, { city: string; days: number }>(true);
sameType<Infer<typeof plainSchema>, { city: string; units: "metric" | "imperial"; days?: number; tags?: string[]; at?: { lat: number } }>(true);

test("handlers know their arguments", () => {
  new Agent("typed")
    .tool("zod", { schema: zodSchema, handler: (args) => sameType<typeof args, { city: string; days: number }>(true) })
    .tool("plain", {
      schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      handler: (args) => sameType<typeof args, { n: number }>(true),
    })
    .tool("any", { handler: (args) => sameType<typeof args, { [name: string]: unknown }>(true) });
});

for (const [name, schema] of Object.entries({ zod: zodSchema, arktype: arkSchema, valibot: valibotSchema }) as [string, Schema][]) {
  test(`${name} has a JSON Schema and checks`, async () => {
    const json = jsonSchemaOf(schema, "input", name) as { type: string; required: string[]; properties: Record<string, { type: string }> };
    assert.equal(json.type, "object");
    assert.deepEqual(json.required, ["city"]);
    assert.equal(json.properties.city?.type, "string");
    assert.equal(((await validate(schema, { city: "Oslo", days: 3 })) as { days: number }).days, 3);
    await assert.rejects(validate(schema, { city: "" }), (error: unknown) => error instanceof Misfit && error.message.includes("city"));
  });
}

test("a JSON Schema is taken as it is", async () => {
  assert.equal(jsonSchemaOf(plainSchema, "input", "plain"), plainSchema);
  assert.deepEqual(await validate(plainSchema, undefined), {});
});

test("a schema without JSON Schema says what to do", () => {
  assert.throws(() => jsonSchemaOf(v.object({}), "input", 'tool "x"'), /tool "x".*toStandardJsonSchema/);
});
