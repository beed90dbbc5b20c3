import { SessionEndedError } from "@countersign/client";
import { describe, expect, it } from "vitest";
import { chainName, signUpPerson } from "./person.ts";

describe("a client whose session was ended from elsewhere", () => {
  it("drops its tokens, signs out without an error, and opens another session", async () => {
    const { client, login } = await signUpPerson();
    const [session] = await client.sessions();
    await client.endSession(session!.id);
    await expect(client.refresh()).rejects.toBeInstanceOf(SessionEndedError);
    expect(client.credentials).toBeUndefined();
    await client.signOut();
    await client.signIn({ login, chainName });
    expect((await client.me()).addresses).toHaveLength(2);
  });
});
