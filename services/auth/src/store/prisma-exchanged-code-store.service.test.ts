import { describe, expect, it } from "vitest";
import { clock, person, prisma, times } from "../testing/store-fixture.ts";
import type { PrismaClient } from "./generated/client.ts";
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

  it("are exchanged while any number of others wait for a provider that does not answer", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const login = { profile: person(), nonce: "" };
    const silence = Promise.withResolvers<typeof login>();
    const use = (code: string, exchange: () => Promise<typeof login>) =>
      codes.once(code, { binding: "b", keys: ["k"] }, exchange);
    const waiting = times(10, (i) => use(`silent-${i}`, () => silence.promise));
    const claimed = () => prisma.exchangedCode.count({ where: { codeHash: { startsWith: "silent-" }, binding: "" } });
    await expect.poll(claimed).toBe(10);
    expect(await use("of another provider", async () => login)).toEqual(login);
    expect(await claimed()).toBe(10);
    silence.resolve(login);
    await Promise.all(waiting);
  });

  it("may be tried again once a process that was exchanging them must have ended", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const login = { profile: person(), nonce: "" };
    const use = (exchange: () => Promise<typeof login>) => codes.once("lost", { binding: "b", keys: ["k"] }, exchange);
    const late = Promise.withResolvers<typeof login>();
    const ended = use(() => late.promise);
    await expect.poll(() => prisma.exchangedCode.count({ where: { codeHash: "lost" } })).toBe(1);
    clock.advance(25_000);
    expect(await use(async () => login)).toEqual(login);
    // It had not ended: its answer replaces nothing.
    late.resolve({ profile: person(), nonce: "" });
    await ended;
    expect(await use(() => expect.unreachable())).toEqual(login);
  });

  it("are not waited for without end where other requests with them come first again and again", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const expiresAt = new Date(clock.now().getTime() + 3_600_000);
    const claimed = { codeHash: "busy", binding: "", keys: [], profile: {}, expiresAt };
    await prisma.exchangedCode.create({ data: claimed });
    const waiting = codes.once("busy", { binding: "b", keys: ["k"] }, async () => ({ profile: person(), nonce: "" }));
    const ended = expect(waiting).rejects.toMatchObject({ reason: "Unavailable" });
    clock.advance(26_000);
    await ended;
  });

  it("that the provider refused may be tried again at once", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const use = () => codes.once("refused", { binding: "b", keys: ["k"] }, () => Promise.reject(new Error("refused")));
    await expect(use()).rejects.toThrow("refused");
    await expect(use()).rejects.toThrow("refused");
  });

  it("at once are exchanged once; another binding or key deletes what was remembered, of this code only", async () => {
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
    expect(await use("b", ["k"])).toEqual(login);
    expect(exchanges).toBe(1);
    await codes.once("another", { binding: "b", keys: ["k"] }, async () => login);
    expect(await use("other", ["k"])).toBeUndefined();
    expect(await prisma.exchangedCode.count({ where: { codeHash: "code" } })).toBe(0);
    expect(await prisma.exchangedCode.count({ where: { codeHash: "another" } })).toBe(1);
    expect(await use("b", ["k"])).toEqual(login);
    expect(await use("b", ["other"])).toBeUndefined();
  });

  it("of which two name the first key at once are bound to one of the two, and no other code is", async () => {
    const login = { profile: person(), nonce: "" };
    const use = (on: PrismaClient, codeHash: string, keys: string[]) =>
      prismaExchangedCodeStore(on, clock).once(codeHash, { binding: "b", keys }, async () => login);
    for (const code of ["raced", "unbound"]) await use(prisma, code, []);
    const overtaking: (typeof login | undefined)[] = [];
    /** A replica that is overtaken by another one after it has read that the code is bound to no key. */
    const overtaken = prisma.$extends({
      query: {
        exchangedCode: {
          async findUnique({ args, query }) {
            const known = await query(args);
            if (overtaking.length === 0) overtaking.push(await use(prisma, "raced", ["first"]));
            return known;
          },
        },
      },
    }) as unknown as PrismaClient;
    expect(await use(overtaken, "raced", ["second"])).toBeUndefined();
    expect(overtaking).toEqual([login]);
    expect(await prisma.exchangedCode.findUnique({ where: { codeHash: "unbound" } })).toMatchObject({ keys: [] });
  });
});
