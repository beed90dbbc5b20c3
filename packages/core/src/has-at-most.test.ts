import { expect, it } from "vitest";
import { hasAtMost } from "./index.ts";

it.each(["a", "é", "€", "😀"])("counts %s as one character", (character) => {
  expect(hasAtMost(character.repeat(256), 256)).toBe(true);
  expect(hasAtMost(character.repeat(257), 256)).toBe(false);
  expect(hasAtMost("", 0)).toBe(true);
});
