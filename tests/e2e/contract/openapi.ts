import { REASONS, type Reason } from "@countersign/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { stack } from "../../support/person.ts";

interface Response {
  description: string;
  content?: Record<string, { schema: object }>;
}

/** An operation as the served document describes it. */
export interface Operation {
  operationId: string;
  /** In upper case. */
  method: string;
  path: string;
  token: "none" | "optional" | "required";
  readsBody: boolean;
  responses: Record<string, Response>;
  /** Every error that the document names for it. */
  codes: Reason[];
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      { operationId: string; security: object[]; requestBody?: object; responses: Record<string, Response> }
    >
  >;
}

const document = (await (await fetch(`${stack.gateway}/openapi.json`)).json()) as Document;

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(document, "openapi");

const codesOf = ({ content }: Response): Reason[] => {
  const schema = content?.["application/problem+json"]?.schema as
    | { allOf: [object, { properties: { error: { enum: Reason[] } } }] }
    | undefined;
  return schema?.allOf[1].properties.error.enum ?? [];
};

const TOKENS = ["none", "required", "optional"] as const;

/** Every operation of the served document, by its id. */
export const operations: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security, requestBody, responses }]) => [
      operationId,
      {
        operationId,
        method: method.toUpperCase(),
        path,
        token: TOKENS[security.length]!,
        readsBody: requestBody !== undefined,
        responses,
        codes: Object.values(responses).flatMap(codesOf),
      },
    ]),
  ),
);

/** Returns the parts of an answer that the document does not describe: status, content type, body. */
export function undescribed(
  { path, method, responses }: Operation,
  answer: { status: number; contentType: string; body: unknown },
): string[] {
  const response = responses[answer.status];
  if (!response) return [`the status ${answer.status}`];
  const types = Object.keys(response.content ?? {});
  if (types.length === 0) return answer.body === undefined ? [] : ["a body"];
  const [type = ""] = answer.contentType.split(";");
  if (!types.includes(type)) return [`the content type ${type}`];
  if (!type.endsWith("json")) return [];
  const step = (text: string) => encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"));
  const pointer = ["paths", path, method.toLowerCase(), "responses", `${answer.status}`, "content", type, "schema"];
  const validate = ajv.getSchema(`openapi#/${pointer.map(step).join("/")}`);
  if (!validate) return [`no schema at ${pointer.join(" ")}`];
  return validate(answer.body) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

/** Returns the HTTP status of an error. */
export const statusOf = (code: Reason): number => REASONS[code].http;
