import { describe, expect, it } from "vitest";
import { MAX_MESSAGE_BYTES, takeMessage } from "./message-size.ts";

describe("takeMessage", () => {
  const bytesOf = (bytes: number) => bytes;
  const messagesOf = (queue: number[]) => {
    const messages: number[][] = [];
    while (queue.length > 0) messages.push(takeMessage(queue, bytesOf));
    return messages;
  };

  it("takes small items together, in their order, at most 256", () => {
    const queue = Array.from({ length: 600 }, (_, i) => i);
    expect(messagesOf(queue.map(() => 1)).map(({ length }) => length)).toEqual([256, 256, 88]);
    expect(messagesOf([...queue]).flat()).toEqual(queue);
  });

  it("keeps a message of large items below the limit, and sends one that is too large alone", () => {
    const large = Array.from({ length: 100 }, () => 64 * 1024);
    for (const message of messagesOf(large)) {
      expect(message.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES / 2);
    }
    const tooLarge = 2 * MAX_MESSAGE_BYTES;
    expect(messagesOf([1, tooLarge, 1, 1])).toEqual([[1], [tooLarge], [1, 1]]);
  });
});
