import { requiredText } from "../../http/validation.ts";

/** A passkey's clientDataJSON, as JSON text or base64(url). */
export const clientDataSchema = requiredText(8_192);

/** Its bytes. JSON begins with a character that base64 does not have; Node takes both alphabets. */
export const toClientData = (text: string): Buffer =>
  text.trimStart().startsWith("{") ? Buffer.from(text) : Buffer.from(text, "base64");
