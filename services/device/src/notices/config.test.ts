import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { notifyConfig, notifyEnv } from "./config.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-notify-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileWith = (content: string) => {
  const file = join(directory, String(content.length));
  writeFileSync(file, content);
  return file;
};
const read = (env: Record<string, string>) => notifyConfig(z.object(notifyEnv).parse(env));
const apns = {
  DEVICE_APNS_KEY_FILE: "key.p8",
  DEVICE_APNS_KEY_ID: "ABCDE12345",
  DEVICE_APNS_TEAM_ID: "TEAM123456",
  DEVICE_APNS_TOPIC: "org.example.app",
};

describe("settings of pushes and mails", () => {
  it("are all off at first", () => {
    expect(read({})).toEqual({
      push: { log: false, fcmCredentialsFile: undefined, apns: undefined },
      mail: undefined,
    });
  });

  it("log in development", () => {
    const config = read({ DEVICE_PUSH: "log", DEVICE_MAIL: "log" });
    expect(config.push.log).toBe(true);
    expect(config.mail).toBe("log");
  });

  it("name Apple's service with all that it needs, over TLS", () => {
    expect(read(apns).push.apns).toEqual({
      keyFile: "key.p8",
      keyId: "ABCDE12345",
      teamId: "TEAM123456",
      topic: "org.example.app",
      url: "https://api.push.apple.com",
    });
    expect(() => read({ ...apns, DEVICE_APNS_TOPIC: "" })).toThrow("DEVICE_APNS_KEY_FILE");
    expect(() => read({ ...apns, DEVICE_APNS_URL: "http://api.push.apple.com" })).toThrow();
  });

  it("take the mail server from a file, and never show it", () => {
    const url = "smtps://user:secret@mail.example.org";
    const file = fileWith(`${url}\n`);
    const from = { DEVICE_MAIL_FROM: "countersign@example.org" };
    expect(read({ DEVICE_SMTP_URL_FILE: file, ...from }).mail).toEqual({ url, from: from.DEVICE_MAIL_FROM });
    expect(() => read({ DEVICE_SMTP_URL_FILE: file })).toThrow("DEVICE_MAIL_FROM");
    const wrong = fileWith("https://user:secret@example.org");
    expect(() => read({ DEVICE_SMTP_URL_FILE: wrong, ...from })).toThrow(/not an smtp/);
    expect(() => read({ DEVICE_SMTP_URL_FILE: wrong, ...from })).not.toThrow("secret@");
  });
});
