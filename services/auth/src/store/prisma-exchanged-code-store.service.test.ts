import { describe, expect, it } from "vitest";
import { clock, person, prisma, times } from "../testing/store-fixture.ts";
import { prismaExchangedCodeStore } from "./prisma-exchanged-code-store.ts";

describe("exchanged codes", () => {
  it("of somebody who signs in by name are bound to the first key that is named", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const profile = { ...person(), authTime: undefined };
    const once = (keys: string[]) => codes.once("by-name", { binding: "b", keys }, async () => profile);
    expect(await once([])).toEqual(profile);
    expect(await once([])).toEqual(profile);
    expect(await once(["k"])).toEqual(profile);
    expect(await once([])).toEqual(profile);
    expect(await once(["k"])).toEqual(profile);
    expect(await once(["other"])).toBeUndefined();
  });

  it("at once are exchanged once; another binding deletes what was remembered", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const profile = person();
    let exchanges = 0;
    const use = (binding: string, keys: string[]) =>
      codes.once("code", { binding, keys }, async () => {
        exchanges += 1;
        return profile;
      });
    const answers = await Promise.all(times(4, () => use("b", ["k"])));
    expect(answers).toEqual(times(4, () => profile));
    expect(exchanges).toBe(1);
    expect(await use("b", ["other"])).toBeUndefined();
    expect(await prisma.exchangedCode.count({ where: { codeHash: "code" } })).toBe(0);
  });
});
