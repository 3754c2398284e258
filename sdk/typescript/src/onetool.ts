/** An agent that is one tool, for those who talk to it: REST and A2A have no tools. */
import { isObject, type JsonObject } from "./frame.ts";

/**
 * The arguments in what somebody says: a JSON object, or the text itself where the tool needs one text and no more.
 * undefined = it is neither.
 */
export function readArguments(text: string, schema: JsonObject): JsonObject | undefined {
  const object = text.trimStart().startsWith("{") ? parse(text) : undefined;
  if (isObject(object)) return object;
  const [name, ...more] = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const property = name !== undefined && more.length === 0 ? propertiesOf(schema)[name] : undefined;
  return isObject(property) && property.type === "string" ? { [name!]: text } : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isObject(schema.properties) ? schema.properties : {};
}

const notes = ["title", "description", "default", "examples", "deprecated", "$comment"];
const ofObjects = new Set(["type", "properties", "required", "additionalProperties", "$schema", ...notes]);
const ofValues = new Set(["type", "enum", ...notes]);

/**
 * Says what is wrong with arguments that the gateway has not seen, "" = nothing. What a schema asks beyond types, lists
 * of values and required names cannot be checked here; an agent with such a tool is not talked to.
 */
export function findMisfit(args: JsonObject, schema: JsonObject): string | undefined {
  const properties = propertiesOf(schema);
  const simple = hasOnly(schema, ofObjects) && Object.values(properties).every((one) => isObject(one) && hasOnly(one, ofValues) && typeof one.type === "string");
  if (!simple) return undefined;
  const missing = (Array.isArray(schema.required) ? (schema.required as string[]) : []).filter((name) => !Object.hasOwn(args, name));
  if (missing.length > 0) return `${missing.join(", ")} is missing`;
  for (const [name, value] of Object.entries(args)) {
    const property = Object.hasOwn(properties, name) ? (properties[name] as JsonObject) : undefined;
    if (property === undefined) {
      if (schema.additionalProperties === false) return `there is no argument ${name}`;
    } else if (!isOfType(value, String(property.type))) {
      return `${name} must be of type ${String(property.type)}`;
    } else if (Array.isArray(property.enum) && !property.enum.includes(value)) {
      return `${name} must be one of ${property.enum.join(", ")}`;
    }
  }
  return "";
}

function hasOnly(schema: JsonObject, keywords: ReadonlySet<string>): boolean {
  return Object.keys(schema).every((keyword) => keywords.has(keyword));
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "object":
      return isObject(value);
  }
  return typeof value === type;
}
