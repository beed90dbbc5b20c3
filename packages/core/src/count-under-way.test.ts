import { expect, it } from "vitest";
import { countUnderWay } from "./count-under-way.ts";

it("counts what has begun and is not over, by id; nothing ends twice", () => {
  const { of, begin } = countUnderWay();
  const [end] = [begin("a"), begin("a")];
  begin("b");
  expect([of("a"), of("b"), of("c")]).toEqual([2, 1, 0]);
  end();
  end();
  expect([of("a"), of("b")]).toEqual([1, 1]);
});
