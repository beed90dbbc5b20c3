import { type DecodedMessage, decodeMessage, InvalidMessageError, TemplateError } from "@countersign/flow";
import { hexToBytes, isHex } from "@countersign/keys";

/**
 * Decodes a message (hex) that the service wants signed, and reads its template by `read`. Where the message
 * is not valid, calls `refuse`, which throws.
 */
export function readMessage<Change>(
  message: string,
  read: (decoded: DecodedMessage) => Change,
  refuse: (detail: string) => never,
): { decoded: DecodedMessage; change: Change } {
  if (message === "" || !isHex(message)) refuse("the message is not hex");
  try {
    const decoded = decodeMessage(hexToBytes(message));
    return { decoded, change: read(decoded) };
  } catch (error) {
    if (error instanceof InvalidMessageError) refuse(`the message is no transaction: ${error.message}`);
    if (error instanceof TemplateError) refuse(error.message);
    throw error;
  }
}
