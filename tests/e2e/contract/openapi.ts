import { REASONS, type Reason } from "@countersign/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { documentedCodes } from "../../../gateway/src/testing/documented-codes.ts";
import { stack } from "../../support/person.ts";

interface Response {
  $ref?: string;
  "x-error-codes"?: Reason[];
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
  /** The errors that the document names for it, by status. */
  codesByStatus: Map<number, readonly Reason[]>;
  /** All of them. */
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
  components: { responses: Record<string, Response> };
}

const document = (await (await fetch(`${stack.gateway}/openapi.json`)).json()) as Document;

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(document, "openapi");

/** Returns the token that an operation takes: an empty alternative makes it optional. */
const tokenOf = (security: object[]): Operation["token"] =>
  security.length === 0 ? "none" : security.some((each) => Object.keys(each).length === 0) ? "optional" : "required";

/** Every operation of the served document, by its id. */
export const operations: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security, requestBody, responses }]) => [
      operationId,
      {
        operationId,
        method: method.toUpperCase(),
        path,
        token: tokenOf(security),
        readsBody: requestBody !== undefined,
        responses,
        codesByStatus: documentedCodes(document, { path, method }),
        codes: [...documentedCodes(document, { path, method }).values()].flat(),
      },
    ]),
  ),
);

/** Returns the parts of an answer that the document does not describe: status, content type, body. */
export function undescribed(
  { path, method, responses }: Operation,
  answer: { status: number; contentType: string; body: unknown },
): string[] {
  const named = responses[answer.status];
  if (!named) return [`the status ${answer.status}`];
  const shared = named.$ref?.split("/").at(-1);
  const response = shared === undefined ? named : document.components.responses[shared]!;
  const types = Object.keys(response.content ?? {});
  if (types.length === 0) return answer.body === undefined ? [] : ["a body"];
  const [type = ""] = answer.contentType.split(";");
  if (!types.includes(type)) return [`the content type ${type}`];
  if (!type.endsWith("json")) return [];
  const step = (text: string) => encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"));
  const at =
    shared === undefined
      ? ["paths", path, method.toLowerCase(), "responses", `${answer.status}`]
      : ["components", "responses", shared];
  const pointer = [...at, "content", type, "schema"];
  const validate = ajv.getSchema(`openapi#/${pointer.map(step).join("/")}`);
  if (!validate) return [`no schema at ${pointer.join(" ")}`];
  return validate(answer.body) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

/** Returns the HTTP status of an error. */
export const statusOf = (code: Reason): number => REASONS[code].http;
