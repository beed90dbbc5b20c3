import { openEnum } from "@countersign/http-api/formats.ts";
import * as requests from "@countersign/http-api/requests.ts";
import * as resources from "@countersign/http-api/resources.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { resourceTypes } from "./resource-types.ts";

it.each([
  ["resources", resources, "output"],
  ["requests", requests, "input"],
] as const)("every type that the %s name is declared, once", (_name, module, io) => {
  const text = resourceTypes({ ...module }, io).replaceAll(/\/\*[\s\S]*?\*\/|"[^"]*"/g, "");
  const declared = [...text.matchAll(/^export type (\w+) =/gm)].map(([, name]) => name);
  expect(declared.length).toBeGreaterThan(3);
  expect(new Set(declared).size).toBe(declared.length);
  const named = [...text.matchAll(/\b[A-Z]\w*/g)].map(([name]) => name);
  expect(named.filter((name) => !["Array", "Record", ...declared].includes(name))).toEqual([]);
});

it("writes a schema as a type, with its description and examples", () => {
  const Colour = z.enum(["red", "green"]).meta({ id: "Colour" });
  const Cat = z.object({
    name: z.string().meta({ description: "Its name.", examples: ["Tom"] }),
    colour: Colour,
    mood: openEnum(["awake", "asleep"], "Its mood."),
    lives: z.int().default(9),
    friends: z.array(z.union([z.string(), z.null()])).optional(),
  });
  expect(resourceTypes({ Cat }, "input")).toBe(
    [
      'export type Colour = "red" | "green";',
      "",
      "export type Cat = {",
      "  /**",
      "   * Its name.",
      '   * @example "Tom"',
      "   */",
      '  "name": string;',
      '  "colour": Colour;',
      "  /**",
      "   * Its mood. A newer gateway may send other values.",
      '   * @example "awake"',
      "   */",
      '  "mood": "awake" | "asleep" | (string & {});',
      '  "lives"?: number | undefined;',
      '  "friends"?: Array<string | null> | undefined;',
      "};",
      "",
    ].join("\n"),
  );
  expect(resourceTypes({ Cat }, "output")).toContain('  "lives": number;');
});
