import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Writable } from "node:stream";
import { createLogger } from "@countersign/runtime";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogMailer } from "./log-mailer.ts";
import { noticeText } from "./notice-text.ts";
import { createSmtpMailer } from "./smtp-mailer.ts";

let server: Server;
let sockets: Set<Socket>;
let received: { to: string[]; data: string }[];
let answerTo: string;
let answers: boolean;

/** As much of RFC 5321 as a client needs to be content. */
function serve(socket: Socket) {
  sockets.add(socket);
  socket.on("error", () => undefined);
  if (!answers) return;
  let to: string[] = [];
  let data: string | undefined;
  let buffered = "";
  socket.write("220 test\r\n");
  socket.on("data", (chunk) => {
    buffered += chunk;
    for (let end = buffered.indexOf("\r\n"); end >= 0; end = buffered.indexOf("\r\n")) {
      const line = buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
      if (data !== undefined) {
        if (line === ".") {
          received.push({ to, data });
          [to, data] = [[], undefined];
          socket.write("250 taken\r\n");
        } else data += `${line}\n`;
      } else if (/^EHLO/i.test(line)) socket.write("250-test\r\n250 8BITMIME\r\n");
      else if (/^STARTTLS/i.test(line)) socket.write("502 not here\r\n");
      else if (/^RCPT/i.test(line)) {
        to.push(line.slice(8));
        socket.write(`${answerTo}\r\n`);
      } else if (/^DATA/i.test(line)) {
        data = "";
        socket.write("354 go on\r\n");
      } else socket.write("250 ok\r\n");
    }
  });
}

beforeEach(async () => {
  sockets = new Set();
  received = [];
  answerTo = "250 ok";
  answers = true;
  server = createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const lines: string[] = [];
const sink = new Writable({
  write(chunk, _encoding, done) {
    lines.push(String(chunk));
    done();
  },
});
const logger = createLogger({ name: "test", level: "silent" });
const mail = { to: "ada@example.com", subject: "New sign-in", text: "Hello.\n", id: "event-1" };
const mailer = (requireTls = false) =>
  createSmtpMailer({
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    from: "countersign@example.org",
    logger,
    requireTls,
  });

/** Returns the text of quoted-printable (RFC 2045, section 6.7). */
const unquoted = (text: string): string => {
  const joined = text.replace(/=\n/g, "");
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
};

/** Returns the text of a header of encoded words in UTF-8 (RFC 2047). */
const decodeWords = (header: string): string =>
  header
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toUpperCase() === "B" ? Buffer.from(word, "base64").toString() : unquoted(word.replaceAll("_", " ")),
    )
    .replace(/\n(?=[ \t])/g, "");

describe("SMTP", () => {
  it("takes plain text with subject and a message id of the event's", async () => {
    const sender = mailer();
    await sender.send(mail);
    sender.close();
    expect(received).toHaveLength(1);
    expect(received[0]!.to).toEqual(["<ada@example.com>"]);
    const { data } = received[0]!;
    expect(data).toContain("From: countersign@example.org");
    expect(data).toContain("Subject: New sign-in");
    expect(data).toContain("Message-ID: <event-1@example.org>");
    expect(data).toContain("Auto-Submitted: auto-generated");
    expect(data).toContain("Content-Type: text/plain");
    expect(data).toContain("Hello.");
  });

  it("encodes a subject that is not ASCII as RFC 2047 asks, and a body as UTF-8", async () => {
    const sender = mailer();
    const { subject, text } = noticeText("time-lock-started", new Date(0), "de");
    await sender.send({ ...mail, subject, text });
    sender.close();
    const { data } = received[0]!;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: 8-bit bytes do not belong on the wire.
    expect(data).toMatch(/^[\x00-\x7f]*$/);
    const [head = "", body = ""] = data.split(/\n\n([\s\S]*)/);
    expect(head).toMatch(/^Content-Type: text\/plain; charset=utf-8$/m);
    const encoding = /^Content-Transfer-Encoding: (\S+)$/m.exec(head)?.[1];
    const subjectLines = /^Subject: (.*(?:\n[ \t].*)*)/m.exec(head)?.[1] ?? "";
    expect(decodeWords(subjectLines)).toBe(subject);
    expect(encoding === "base64" ? Buffer.from(body, "base64").toString() : unquoted(body)).toBe(text);
  });

  it("lets no subject add a header", async () => {
    const sender = mailer();
    await sender.send({ ...mail, subject: "Ä\r\nBcc: eve@example.com" });
    sender.close();
    expect(received[0]!.to).toEqual(["<ada@example.com>"]);
    expect(received[0]!.data).not.toMatch(/^Bcc:/im);
  });

  it.each(["a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com", "Ada <a@example.com>", "x", ""])(
    "is not given %j",
    async (to) => {
      const sender = mailer();
      await sender.send({ ...mail, to });
      sender.close();
      expect(received).toEqual([]);
    },
  );

  it("comes again where it may be taken later, and is given up where it will not", async () => {
    const sender = mailer();
    answerTo = "451 later, ada@example.com";
    const error = await sender.send(mail).catch((caught: Error) => caught);
    expect(String(error)).toBe("Error: the SMTP server did not accept the mail: 451");
    answerTo = "550 no such person";
    await sender.send(mail);
    sender.close();
    expect(received).toEqual([]);
  });

  it("holds up no events while it does not answer, and gets the next ones once it does", async () => {
    const sender = mailer();
    answers = false;
    const started = performance.now();
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => sender.send(mail)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    // Two connections try; each of them may take so long.
    expect(performance.now() - started).toBeLessThan(10_000);
    await expect(sender.send(mail)).rejects.toThrow("was away just now");
    answers = true;
    await expect.poll(() => sender.send(mail).then(() => received.length)).toBe(1);
    await sender.send(mail);
    sender.close();
  });

  it("receives nothing without TLS", async () => {
    const sender = mailer(true);
    await expect(sender.send(mail)).rejects.toThrow("the SMTP server did not accept the mail");
    sender.close();
    expect(received).toEqual([]);
  });
});

it("the log has no address in clear", async () => {
  await createLogMailer(pino({}, sink) as never).send(mail);
  expect(lines.join()).toContain("New sign-in");
  expect(lines.join()).not.toContain("ada");
});
