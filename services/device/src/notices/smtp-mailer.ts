import type { Logger } from "@countersign/core";
import { createTransport } from "nodemailer";
import type { Mailer } from "./ports.ts";

interface SmtpOptions {
  /** smtps://user:password@host:465, or smtp:// for STARTTLS. */
  url: string;
  /** The sender's address. */
  from: string;
  logger: Logger;
  /** False in tests only: credentials and addresses go over TLS. */
  requireTls?: boolean;
}

/** One plain address: no list, no name, no header. */
const ADDRESS = /^[^\s@<>()[\]:;,\\"]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/** For so long after a failure of the server a mail fails at once. */
const AWAY_MS = 3_000;
/** One mail tries for all whether it is back, which takes less. */
const TRY_MS = 15_000;

/**
 * Sends mail through an SMTP server, over two pooled connections. While it does not answer, mails fail at
 * once: each would wait for a connection of its own, and so would the pushes of later events.
 */
export function createSmtpMailer({ url, from, logger, requireTls = true }: SmtpOptions): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  const settings = {
    host: hostname,
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: requireTls,
    ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: 2,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: 10_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const;
  let transport = createTransport(settings);
  /** 0: it has answered. */
  let awayUntil = 0;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  return {
    async send({ to, subject, text, id }) {
      if (!ADDRESS.test(to))
        return logger.warn({ eventId: id }, "mail not sent: the account's e-mail address is not valid");
      const [used, now] = [transport, performance.now()];
      if (now < awayUntil) throw new Error("the SMTP server was away just now");
      if (awayUntil > 0) awayUntil = now + TRY_MS;
      try {
        await used.sendMail({
          from,
          to: { name: "", address: to },
          subject,
          text,
          messageId: `<${id}@${domain}>`,
          // RFC 3834: no out-of-office answers.
          headers: { "Auto-Submitted": "auto-generated" },
        });
        awayUntil = 0;
      } catch (error) {
        const { code, responseCode } = error as { code?: string; responseCode?: number };
        const isOfMail = code === "EENVELOPE" || code === "EMESSAGE";
        if (responseCode !== undefined || isOfMail) awayUntil = 0;
        else if (used === transport) {
          awayUntil = performance.now() + AWAY_MS;
          transport = createTransport(settings);
          // Ends those that wait.
          used.close();
        }
        // The error's own text may name the address.
        const failure = `the SMTP server did not accept the mail: ${responseCode ?? code ?? "unknown"}`;
        // A refused session (TLS, password) is not a refusal of this mail, which is retried.
        const refused = isOfMail && responseCode !== undefined && responseCode >= 500;
        if (!refused) throw new Error(failure);
        logger.warn({ eventId: id, code: String(responseCode) }, "the SMTP server refused the mail; it is not retried");
      }
    },
    close: () => transport.close(),
  };
}
