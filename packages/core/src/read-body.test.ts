import { expect, it } from "vitest";
import { readBody } from "./read-body.ts";

it("returns a body of the most bytes, and cancels a longer one", async () => {
  let cancelled = 0;
  const bodyOf = (chunks: number) =>
    new Response(
      new ReadableStream({
        pull(controller) {
          if (chunks-- > 0) controller.enqueue(new Uint8Array(5).fill(7));
          else controller.close();
        },
        cancel() {
          cancelled += 1;
        },
      }),
    );
  expect(await readBody(bodyOf(2).body, 10)).toEqual(Buffer.alloc(10, 7));
  expect(cancelled).toBe(0);
  expect(await readBody(bodyOf(Number.POSITIVE_INFINITY).body, 10)).toBeUndefined();
  expect(cancelled).toBe(1);
  expect(await readBody(new Response(null, { status: 204 }).body, 10)).toEqual(Buffer.alloc(0));
});
