import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { chartReadme, README } from "./chart-readme.ts";

it("the chart's README has the values as they are", () => {
  expect(readFileSync(README, "utf8")).toBe(chartReadme());
});
