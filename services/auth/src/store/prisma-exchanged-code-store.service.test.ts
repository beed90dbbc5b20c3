import { describe, expect, it } from "vitest";
import { clock, person, prisma, times } from "../testing/store-fixture.ts";
import { prismaExchangedCodeStore } from "./prisma-exchanged-code-store.ts";

describe("exchanged codes", () => {
  it("of somebody who signs in by name are bound to the first key that is named", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const login = { profile: { ...person(), authTime: undefined }, nonce: "n" };
    const once = (keys: string[]) => codes.once("by-name", { binding: "b", keys }, async () => login);
    expect(await once([])).toEqual(login);
    expect(await once([])).toEqual(login);
    expect(await once(["k"])).toEqual(login);
    expect(await once([])).toEqual(login);
    expect(await once(["k"])).toEqual(login);
    expect(await once(["other"])).toBeUndefined();
  });

  it("at once are exchanged once; another binding deletes what was remembered", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const login = { profile: person(), nonce: "" };
    let exchanges = 0;
    const use = (binding: string, keys: string[]) =>
      codes.once("code", { binding, keys }, async () => {
        exchanges += 1;
        return login;
      });
    const answers = await Promise.all(times(4, () => use("b", ["k"])));
    expect(answers).toEqual(times(4, () => login));
    expect(exchanges).toBe(1);
    expect(await use("b", ["other"])).toBeUndefined();
    expect(await prisma.exchangedCode.count({ where: { codeHash: "code" } })).toBe(0);
  });
});
