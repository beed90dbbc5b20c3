/** The most bytes of one gRPC message, unless a client's or server's options say otherwise. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** The most items of one message of a shared stream. */
export const MAX_ITEMS_PER_MESSAGE = 256;

/** Large items of one caller must not make a message too large: it would break the stream for all callers. */
const MAX_BYTES_OF_ITEMS = MAX_MESSAGE_BYTES / 2;

/** Removes the first items of the queue that fit into one message; an item that is larger goes alone. */
export function takeMessage<Item>(queue: Item[], bytesOf: (item: Item) => number): Item[] {
  let count = 0;
  let bytes = 0;
  for (const item of queue) {
    bytes += bytesOf(item);
    if (count === MAX_ITEMS_PER_MESSAGE || (count > 0 && bytes > MAX_BYTES_OF_ITEMS)) break;
    count += 1;
  }
  return queue.splice(0, count);
}
