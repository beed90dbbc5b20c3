import type { Socket } from "node:net";
import { beforeAll, expect, it } from "vitest";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, newVictim, type Victim } from "./attacker.ts";
import { mintAccessToken } from "./token-forge.ts";
import { HOST, open, parseAnswers } from "./wire.ts";

let victim: Victim;
let token: string;
beforeAll(async () => {
  victim = await newVictim();
  token = await mintAccessToken(victim);
});

const POST = `POST /auth/v1/token/refresh HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\n`;

interface Slow {
  name: string;
  count: number;
  /** Bytes that are sent immediately. */
  start: string;
  /** The pieces that follow, one per 500 ms. */
  drip: string;
  /** Seconds after which the server must have closed the connection. */
  within: number;
  /** The status that the server must answer with; without a request none. */
  status: number[];
}

const ATTACKS: Slow[] = [
  { name: "nothing at all", count: 60, start: "", drip: "", within: 8, status: [] },
  {
    name: "headers that never end",
    count: 60,
    start: `GET / HTTP/1.1\r\n${HOST}\r\n`,
    drip: "a: b\r\n",
    within: 8,
    status: [408],
  },
  { name: "a request line that never ends", count: 20, start: "GET /", drip: "a", within: 8, status: [408] },
  {
    name: "a body that never ends",
    count: 60,
    start: `${POST}Content-Length: 60000\r\n\r\n{`,
    drip: " ",
    within: 18,
    status: [408],
  },
  {
    name: "chunks that never end",
    count: 60,
    start: `${POST}Transfer-Encoding: chunked\r\n\r\n`,
    drip: "1\r\n \r\n",
    within: 18,
    status: [408],
  },
  {
    name: "a body that was refused and never ends",
    count: 20,
    start: `POST /account/v1/freeze HTTP/1.1\r\n${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    drip: "1\r\n \r\n",
    within: 18,
    status: [401],
  },
];

/** Plays one slow client; returns the answer and the time at which the connection was closed. */
function play({ start, drip, within }: Slow): Promise<{ received: string; seconds: number; socket: Socket }> {
  const socket = open();
  const started = performance.now();
  let received = "";
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (drip !== "" && socket.writable) socket.write(drip);
    }, 500);
    const end = () => {
      clearInterval(timer);
      clearTimeout(limit);
      socket.destroy();
      resolve({ received, seconds: (performance.now() - started) / 1000, socket });
    };
    const limit = setTimeout(end, (within + 4) * 1000);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("end", end).on("close", end);
    socket.on("connect", () => void (start !== "" && socket.write(start)));
  });
}

it("slow clients are disconnected in time, and others are not affected", async () => {
  const slow = ATTACKS.map((attack) => Promise.all(Array.from({ length: attack.count }, () => play(attack))));
  const times: number[] = [];
  const watched = Promise.all(slow).then(() => undefined);
  let over = false;
  void watched.then(() => {
    over = true;
  });
  while (!over) {
    const answer = await send({ method: "GET", path: "/account/v1/me", token });
    expect(answer.status).toBe(200);
    times.push(answer.ms);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  times.sort((a, b) => a - b);
  expect(times[Math.floor(times.length * 0.9)]!).toBeLessThan(1_000);
  for (const [index, attack] of ATTACKS.entries()) {
    for (const { received, seconds } of await slow[index]!) {
      expect(seconds, attack.name).toBeLessThan(attack.within);
      const answers = parseAnswers(received);
      expect(
        answers.map(({ status }) => status),
        attack.name,
      ).toEqual(attack.status);
      for (const answer of answers) expectProblem(answer, attack.status[0]!);
    }
  }
}, 40_000);

it("a client that sends many requests and reads no answers costs little memory", async () => {
  const socket = open();
  socket.pause();
  const request = `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n\r\n`;
  for (let i = 0; i < 200; i++) socket.write(request.repeat(50));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const answer = await send({ method: "GET", path: "/account/v1/me", token });
  expect(answer.status).toBe(200);
  // Well below what answering all of them would take.
  expect(answer.ms).toBeLessThan(5_000);
  const { metrics } = (await import("../support/person.ts")).stack.processes.gateway!;
  const text = await (await fetch(metrics!)).text();
  const [, bytes] = /^process_resident_memory_bytes(?:\{[^}]*\})? ([\d.e+]+)/m.exec(text) ?? [];
  expect(Number(bytes)).toBeLessThan(400 * 1024 * 1024);
  socket.destroy();
});

afterwards();
