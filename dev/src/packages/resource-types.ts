import { z } from "zod";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Registry = Record<string, JsonSchema>;

/** Returns a declaration for each zod schema that a module of packages/http-api exports, named as there. */
export function resourceTypes(module: Record<string, unknown>, io: "input" | "output"): string {
  const registry = z.registry<{ id: string }>();
  for (const [id, value] of Object.entries(module)) if (value instanceof z.ZodType) registry.add(value, { id });
  // A registry of its own gives `$ref` instead of copies; other metadata is still in the global one.
  const { schemas } = z.toJSONSchema(registry, { io, uri: (id) => id, unrepresentable: "any" }) as {
    schemas: Registry;
  };
  // Schemas with an id of their own that the module uses and does not export.
  const { __shared, ...exported } = schemas;
  const all: Registry = { ...(__shared?.$defs as Registry | undefined), ...exported };
  return Object.entries(all)
    .map(([name, schema]) => `${comment(schema, "")}export type ${name} = ${typeOf(describedIn(all, schema), "")};\n`)
    .join("\n");
}

/** Returns a schema whose members without a description have that of the schema that they refer to. */
function describedIn(all: Registry, schema: JsonSchema): JsonSchema {
  const described = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    if (typeof member === "boolean" || member.description !== undefined || member.$ref === undefined) {
      return [name, member];
    }
    const { description } = all[nameOf(member.$ref)] ?? {};
    return [name, { ...member, ...(description !== undefined && { description }) }];
  });
  return schema.properties === undefined ? schema : { ...schema, properties: Object.fromEntries(described) };
}

const nameOf = (ref: string): string => ref.replace(/^.*\//, "");

/** Returns the description and examples of a schema as a comment, or "". */
function comment({ description, examples }: JsonSchema, indent: string): string {
  const lines = [
    ...(description ?? "").split("\n"),
    ...(Array.isArray(examples) ? examples : []).map((example) => `@example ${JSON.stringify(example)}`),
  ].filter((line) => line !== "");
  if (lines.length === 0) return "";
  return [`/**`, ...lines.map((line) => ` * ${line.replaceAll("*/", "*\\/")}`), ` */`, ""].join(`\n${indent}`);
}

function typeOf(schema: JsonSchema | boolean, indent: string): string {
  if (typeof schema === "boolean") return "unknown";
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) {
    const values = schema.enum.map((value) => JSON.stringify(value));
    // An editor still offers the known values of an open enumeration.
    return [...values, ...("x-extensible-enum" in schema ? ["(string & {})"] : [])].join(" | ");
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map((each) => typeOf(each, indent)).join(" | ");
  if (schema.allOf) return schema.allOf.map((each) => `(${typeOf(each, indent)})`).join(" & ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type } as JsonSchema, indent)).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `Array<${typeOf((schema.items ?? true) as JsonSchema, indent)}>`;
    case "object":
      return objectType(schema, indent);
    case undefined:
      return "unknown";
    default:
      throw new Error(`no TypeScript type for ${JSON.stringify(schema)}`);
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema, indent: string): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const inner = `${indent}  `;
    const [mark, none] = required.includes(name) ? ["", ""] : ["?", " | undefined"];
    const doc = typeof schema === "boolean" ? "" : comment(schema, inner);
    return `${inner}${doc}${JSON.stringify(name)}${mark}: ${typeOf(schema, inner)}${none};\n`;
  });
  if (members.length > 0) return `{\n${members.join("")}${indent}}`;
  return `Record<string, ${typeOf(additionalProperties ?? true, indent)}>`;
}
