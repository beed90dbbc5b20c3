/**
 * Streams of events as the server sends them until they break off, with the events that a client reads and
 * the id after which it resumes.
 */
export const STREAMS: { name: string; text: string; events: object[]; lastEventId: string }[] = [
  {
    name: "ids without data move the position",
    text: 'retry: 1000\n\nid: 4711\n\nid: 4712\nevent: two-factor.requested\ndata: {"id":"a"}\n\n:\n\n',
    events: [{ id: "4712", name: "two-factor.requested", data: { id: "a" } }],
    lastEventId: "4712",
  },
  {
    name: "carriage returns, data over two lines, no space after the colon",
    text: 'id:1\r\nevent:key.added\r\ndata:{"publicKey":\r\ndata: "é 🦊"}\r\n\r\n',
    events: [{ id: "1", name: "key.added", data: { publicKey: "é 🦊" } }],
    lastEventId: "1",
  },
  {
    name: "an id with NUL, which is none",
    text: "id: 5\nevent: key.added\ndata: {}\n\nid: 6\u0000\nevent: key.revoked\ndata: {}\n\n",
    events: [
      { id: "5", name: "key.added", data: {} },
      { id: "5", name: "key.revoked", data: {} },
    ],
    lastEventId: "5",
  },
  {
    name: "an event of a later server, then one without an end",
    text: 'id: 2\nevent: later.event\ndata: {"new":true}\nlater: field\n\nid: 3\nevent: key.revoked\ndata: {}\n',
    events: [{ id: "2", name: "later.event", data: { new: true } }],
    lastEventId: "2",
  },
];
