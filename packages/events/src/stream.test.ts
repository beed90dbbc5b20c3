import { expect, it } from "vitest";
import { eventStreams, parsePartitions, partitionOf } from "./stream.ts";

// Hashes of the test vectors of FNV: 811c9dc5, e40c292c, bf9cf968.
it.each([
  ["", 0x811c9dc5 % 64],
  ["a", 0xe40c292c % 64],
  ["foobar", 0xbf9cf968 % 64],
])("the partition of %j is its hash modulo the number of partitions", (text, expected) => {
  expect(partitionOf(text, 64)).toBe(expected);
  expect(partitionOf(text, 1)).toBe(0);
});

it("there is one stream without partitions, and one more for each partition", () => {
  expect(eventStreams(1).map(({ name }) => name)).toEqual(["CS_EVENTS"]);
  expect(eventStreams(2)).toEqual([
    { name: "CS_EVENTS", subjects: "cs.v1.>", feed: "cs.feed.>" },
    { name: "CS_EVENTS_0", subjects: "cs.partition.0.v1.>", feed: "cs.partition-feed.0.>" },
    { name: "CS_EVENTS_1", subjects: "cs.partition.1.v1.>", feed: "cs.partition-feed.1.>" },
  ]);
});

it("a number of partitions is from 1 to 64", () => {
  expect(["1", "9", "64"].map(parsePartitions)).toEqual([1, 9, 64]);
  for (const text of ["", "0", "65", "640", "2.5", "1e1", "0x4", " 4", "-1", "x"])
    expect(() => parsePartitions(text)).toThrow(TypeError);
});
