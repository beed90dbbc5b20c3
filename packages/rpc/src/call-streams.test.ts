import { SignStreamRequest } from "@countersign/proto/signer/v1/signing.ts";
import { describe, expect, test } from "vitest";
import { world } from "./testing/call-world.ts";

describe("streams", () => {
  test("deliver until the reader stops", async () => {
    const ids: string[] = [];
    for await (const { id } of world.events.watch({ lastEventId: "" }, { token: "a.full" })) {
      ids.push(id);
      if (ids.length === 3) break;
    }
    expect(ids).toEqual(["0", "1", "2"]);
  });

  test("end with the session", async () => {
    const read = async () => {
      for await (const { id } of world.events.watch({ lastEventId: "" }, { token: "a.full" }))
        if (id === "2") world.ended.add("a.full");
    };
    await expect(read()).rejects.toMatchObject({ reason: "InvalidAccessToken" });
  });

  test("are refused without a token, with an error that has its reason", async () => {
    const read = async () => {
      for await (const _ of world.events.watch({ lastEventId: "" }));
    };
    await expect(read()).rejects.toMatchObject({ reason: "Unauthenticated" });
    world.work = async () => {
      throw new Error("inside");
    };
    const failing = async () => {
      for await (const _ of world.events.watch({ lastEventId: "" }, { token: "a.full" }));
    };
    await expect(failing()).rejects.toMatchObject({ reason: "Internal" });
  });

  test("in both directions", async () => {
    async function* requests() {
      for (let id = 1; id <= 500; id += 1) yield SignStreamRequest.create({ requests: [{ id }] });
    }
    let sum = 0;
    for await (const { answers } of world.signing.signStream(requests())) sum += answers[0]!.id;
    expect(sum).toBe(125_250);
  });
});
