import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { allBlocks, type Block } from "./blocks.ts";
import { BY_LANGUAGE, BY_PAGE, NOT_RUN } from "./how-blocks-run.ts";

const runnerOf = ({ page, language }: Block) => BY_PAGE[page]?.[language] ?? BY_LANGUAGE[language];

it("each code block of docs/ runs in a test or names the one that runs it", () => {
  const unknown = allBlocks.filter((block) => runnerOf(block) === undefined);
  expect(unknown.map(({ at, language }) => `${at} (${language})`)).toEqual([]);
});

it("each named test or script is there", () => {
  const runners = [...Object.values(BY_LANGUAGE), ...Object.values(BY_PAGE).flatMap((each) => Object.values(each))];
  const missing = runners.filter((path) => path !== "not code" && !existsSync(join(root, path)));
  expect(missing).toEqual([]);
});

it("the lists name only blocks that are there", () => {
  const named = [...Object.entries(BY_PAGE), ...Object.entries(NOT_RUN)].flatMap(([page, languages]) =>
    Object.keys(languages).map((language) => `${page} ${language}`),
  );
  const present = new Set(allBlocks.map(({ page, language }) => `${page} ${language}`));
  expect(named.filter((each) => !present.has(each))).toEqual([]);
});
